import { isDeepStrictEqual } from "node:util";
import type { VersionCatalogue } from "../../shared/kubernetes-version.ts";
import type { ErrorDetail } from "../http/errors.ts";
import type { ProjectedCluster } from "../projection/store.ts";
import { wantedVersionOf, withoutPrefix } from "./present-cluster.ts";
import type { UpdateClusterBody } from "./schema.ts";
import { findClusterStep } from "./upgrade-step.ts";

/** The settings of a cluster that REST may change, apart from its network policy. */
export interface ClusterPatch {
  displayName?: string;
  version?: string;
  credentialsGeneration?: number;
}

export type ClusterMerge =
  /** `patch` is the merge patch of `spec`; empty when the body asks for what is there. */
  | { outcome: "patch"; patch: ClusterPatch }
  | { outcome: "invalid"; details: [ErrorDetail, ...ErrorDetail[]] }
  /** A new version was asked for, and the cluster does not run. */
  | { outcome: "not_running" };

/**
 * Merges a PUT body with a cluster as it is (spec 4.6): an omitted field keeps its value, what was fixed at creation
 * may be repeated but not changed, and another version than the wanted one is an upgrade, by its rules. MAJOR.MINOR of
 * the wanted one is no other: what a create was given can be sent for ever, also when a newer patch comes.
 */
export function mergeUpdate(
  current: ProjectedCluster,
  body: UpdateClusterBody,
  catalogue: VersionCatalogue,
): ClusterMerge {
  const [first, ...others] = checkFixed(current, body);
  if (first !== undefined) return { outcome: "invalid", details: [first, ...others] };
  const isRenamed = body.name !== undefined && body.name !== current.displayName;
  const renaming = isRenamed && body.name !== undefined ? { displayName: body.name } : {};
  const target = body.k8s_version;
  if (target === undefined || isWanted(current, target) || isMinorOf(current, target))
    return { outcome: "patch", patch: renaming };

  const step = findClusterStep(current, target, catalogue);
  if (step === undefined) return { outcome: "not_running" };
  if (step.ok) return { outcome: "patch", patch: { ...renaming, version: step.version } };
  const detail = { field: "k8s_version", code: step.code, message: step.message };
  return { outcome: "invalid", details: [detail] };
}

function checkFixed(current: ProjectedCluster, body: UpdateClusterBody): ErrorDetail[] {
  const { plan, publicEndpoint } = current.object.spec;
  const stored = {
    id: current.id,
    org_id: current.orgId,
    plan: plan ?? null,
    public_endpoint: publicEndpoint,
  };
  return Object.entries(stored)
    .filter(([field, value]) => {
      const wanted = body[field as keyof typeof stored];
      return wanted !== undefined && !isDeepStrictEqual(wanted, value);
    })
    .map(([field]) => ({ field, code: "immutable", message: "is fixed when the cluster is created" }));
}

function isMinorOf({ object }: ProjectedCluster, target: string): boolean {
  const version = withoutPrefix(target);
  return version.split(".").length === 2 && wantedVersionOf(object).startsWith(`${version}.`);
}

/** Whether this is the version wanted already: as GET shows it, or as it stands in the object. */
export function isWanted({ object }: ProjectedCluster, target: string): boolean {
  const version = withoutPrefix(target);
  return version === wantedVersionOf(object) || version === withoutPrefix(object.spec.version);
}

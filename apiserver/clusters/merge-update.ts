import { isDeepStrictEqual } from "node:util";
import { isExpired, isSameExpiry } from "../../shared/crd/fields.ts";
import type { VersionCatalogue } from "../../shared/crd/kubernetes-version.ts";
import type { Labels } from "../../shared/crd/labels.ts";
import { findImmutableChanges } from "../http/contract/fields.ts";
import type { ErrorDetail } from "../http/errors.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import { desiredVersionOf, findClusterStep, withoutPrefix } from "./kubernetes-version.ts";
import type { UpdateClusterBody } from "./schema.ts";

/** The settings of a cluster that REST may change, apart from its network policy. */
export interface ClusterPatch {
  displayName?: string;
  /** All of them. */
  labels?: Labels;
  deletionProtection?: boolean;
  upgradeChecks?: "Warn" | "Enforce";
  /** Null removes it. */
  expiresAt?: string | null;
  version?: string;
  credentialsGeneration?: number;
}

export type ClusterMerge =
  /** `patch` is the merge patch of `spec`; empty when the body requests what is there already. */
  | { outcome: "patch"; patch: ClusterPatch }
  | { outcome: "invalid"; details: [ErrorDetail, ...ErrorDetail[]] }
  /** A new version was requested, and the cluster is not running. */
  | { outcome: "not_running" };

/**
 * Merges a PUT body with the current cluster: an omitted field keeps its value, what was fixed at creation
 * may be repeated but not changed, and another version than the desired one is an upgrade, by its rules. MAJOR.MINOR of
 * the desired version is no upgrade: the body of the create can be sent again, also when there is a newer patch.
 */
export function mergeClusterUpdate(
  current: ProjectedCluster,
  body: UpdateClusterBody,
  catalogue: VersionCatalogue,
): ClusterMerge {
  const [first, ...others] = findFixedChanges(current, body);
  if (first !== undefined) return { outcome: "invalid", details: [first, ...others] };
  const isRenamed = body.name !== undefined && body.name !== current.displayName;
  const { spec } = current.object;
  const { labels = {}, deletionProtection = false, expiresAt } = spec;
  const isLabelled = body.labels !== undefined && !isDeepStrictEqual(body.labels, labels);
  const mode = body.upgrade_checks === "enforce" ? ("Enforce" as const) : ("Warn" as const);
  const isOtherMode = body.upgrade_checks !== undefined && mode !== (spec.upgradeChecks ?? "Warn");
  const end = body.expires_at === null ? null : body.expires_at?.toISOString();
  const settings = {
    ...(isRenamed && body.name !== undefined && { displayName: body.name }),
    ...(isLabelled && body.labels !== undefined && { labels: body.labels }),
    ...(body.deletion_protection !== undefined &&
      body.deletion_protection !== deletionProtection && { deletionProtection: body.deletion_protection }),
    ...(isOtherMode && { upgradeChecks: mode }),
    ...(end !== undefined && !isSameExpiry(end ?? undefined, expiresAt) && { expiresAt: end }),
  };
  const target = body.k8s_version;
  if (target === undefined || isDesired(current, target) || isMinorOf(current, target))
    return { outcome: "patch", patch: settings };

  const step = findClusterStep(current, target, catalogue);
  if (step === undefined) return { outcome: "not_running" };
  if (step.ok) return { outcome: "patch", patch: { ...settings, version: step.version } };
  const detail = { field: "k8s_version", code: step.code, message: step.message };
  return { outcome: "invalid", details: [detail] };
}

/**
 * Whether the service would delete the cluster by this change, or earlier than without it: it sets an end date where there is
 * none, a later one, or one before the creation, for which what came back from a backup is not deleted; or it lifts the
 * protection of a cluster that has one.
 */
export function schedulesDeletion({ object }: ProjectedCluster, patch: ClusterPatch): boolean {
  const present = object.spec.expiresAt;
  const { expiresAt: end = present, deletionProtection } = patch;
  if (end === undefined || end === null) return false;
  if (deletionProtection === false) return true;
  if (patch.expiresAt === undefined || isSameExpiry(end, present)) return false;
  const createdAt = new Date(object.metadata.creationTimestamp ?? "");
  return isExpired(object.spec, createdAt) || !(Date.parse(end) > Date.parse(present ?? ""));
}

function findFixedChanges(current: ProjectedCluster, body: UpdateClusterBody): ErrorDetail[] {
  const { plan = null, publicEndpoint } = current.object.spec;
  const record = { id: current.id, org_id: current.orgId, plan, public_endpoint: publicEndpoint };
  return findImmutableChanges(record, body);
}

function isMinorOf({ object }: ProjectedCluster, target: string): boolean {
  const version = withoutPrefix(target);
  return version.split(".").length === 2 && desiredVersionOf(object).startsWith(`${version}.`);
}

/** Whether this is the desired version already: as GET shows it, or as the object names it. */
export function isDesired({ object }: ProjectedCluster, target: string): boolean {
  const version = withoutPrefix(target);
  return version === desiredVersionOf(object) || version === withoutPrefix(object.spec.version);
}

import type { z } from "@hono/zod-openapi";
import { type ClusterSpec, clusterConditionTypes } from "../../shared/crd/cluster.ts";
import {
  compareKubernetesVersions,
  findUpgrade,
  type VersionCatalogue,
} from "../../shared/crd/kubernetes-version.ts";
import { toRestWords } from "../../shared/crd/rest-words.ts";
import { objectTag } from "../http/contract/etag.ts";
import { toTimestamp } from "../http/contract/fields.ts";
import { presentConditions, protectionStateOf } from "../node-pools/index.ts";
import { type ProjectedCluster, statusMessageOf } from "../resources/project/index.ts";
import { desiredVersionOf, findInstalling, withoutPrefix } from "./kubernetes-version.ts";
import type { clusterRecord } from "./schema.ts";

export type ClusterRecord = z.output<typeof clusterRecord>;

/**
 * The cluster record. Null: plan, status_message and first_ready_at while there is none. Absent: current_version,
 * apiserver_url and worker_subnet until the operator has reported one. The operator's message names fields of the custom
 * resource, which have their wire names here.
 */
export function presentCluster(cluster: ProjectedCluster, catalogue: VersionCatalogue): ClusterRecord {
  const { metadata, spec, status } = cluster.object;
  const message = statusMessageOf(cluster.object);
  return {
    id: cluster.id,
    org_id: cluster.orgId,
    name: cluster.displayName,
    labels: spec.labels ?? {},
    deletion_protection: spec.deletionProtection ?? false,
    deletion_protection_state: spec.deletionProtection ? protectionStateOf(cluster.object) : "off",
    expires_at: toTimestamp(spec.expiresAt),
    upgrade_checks: spec.upgradeChecks === "Enforce" ? "enforce" : "warn",
    status: cluster.status,
    status_message: message === undefined ? null : toRestWords(message),
    conditions: presentConditions(status?.conditions, clusterConditionTypes),
    plan: spec.plan ?? null,
    k8s_version: desiredVersionOf(cluster.object),
    ...(status?.version === undefined ? {} : { current_version: withoutPrefix(status.version) }),
    ...(status?.apiServerURL === undefined ? {} : { apiserver_url: status.apiServerURL }),
    ...(status?.workerSubnet === undefined ? {} : { worker_subnet: status.workerSubnet }),
    public_endpoint: spec.publicEndpoint,
    node_pools: status?.nodePools ?? { total: 0, ready: 0 },
    nodes: status?.nodes ?? { total: 0, ready: 0 },
    upgrade_available: hasUpgrade(cluster.object, catalogue),
    generation: metadata.generation ?? 1,
    // -1 until the operator has observed the object.
    observed_generation: Math.max(0, status?.observedGeneration ?? 0),
    first_ready_at: toTimestamp(status?.firstReadyAt),
    created_at: toTimestamp(metadata.creationTimestamp) ?? cluster.updatedAt.toISOString(),
    updated_at: cluster.updatedAt.toISOString(),
  };
}

/**
 * The entity tag of a cluster and of its network policy. Its third part says that there is an upgrade, which the catalogue decides and
 * no If-Match compares.
 */
export function clusterTag(
  { object }: Pick<ProjectedCluster, "object">,
  catalogue: VersionCatalogue,
): string {
  const tag = objectTag(object.metadata);
  return hasUpgrade(object, catalogue) ? tag.replace(/"$/, '-upgrade"') : tag;
}

/** The path of a cluster. */
export function locationOf({ orgId, id }: ProjectedCluster): string {
  return `/api/v1/organizations/${orgId}/clusters/${id}`;
}

/** The settings of a cluster in an audit row, by wire name. */
export function auditCluster(spec: ClusterSpec, objectName: string): Record<string, unknown> {
  return {
    name: spec.displayName ?? objectName,
    labels: spec.labels ?? {},
    deletion_protection: spec.deletionProtection ?? false,
    expires_at: toTimestamp(spec.expiresAt),
    upgrade_checks: spec.upgradeChecks === "Enforce" ? "enforce" : "warn",
    k8s_version: spec.version,
    plan: spec.plan ?? null,
    public_endpoint: spec.publicEndpoint,
    credentials_generation: spec.credentialsGeneration ?? 0,
    authorized_cidrs: spec.network?.authorizedCIDRs ?? [],
  };
}

/** Whether there is a supported version that is newer than what runs and than what is being installed. */
function hasUpgrade(object: ProjectedCluster["object"], catalogue: VersionCatalogue): boolean {
  if (object.status?.version === undefined) return false;
  const newest = findNewest(catalogue, withoutPrefix(object.status.version));
  const installing = findInstalling(object);
  return (
    newest !== undefined && (installing === undefined || compareKubernetesVersions(newest, installing) > 0)
  );
}

const newestByCatalogue = new WeakMap<VersionCatalogue, Map<string, string | undefined>>();

/** As `findUpgrade`, which takes 30 us: found once for each version that runs, until the catalogue is read again. */
function findNewest(catalogue: VersionCatalogue, running: string): string | undefined {
  const found = newestByCatalogue.get(catalogue) ?? new Map<string, string | undefined>();
  newestByCatalogue.set(catalogue, found);
  if (!found.has(running)) found.set(running, findUpgrade(catalogue, running));
  return found.get(running);
}

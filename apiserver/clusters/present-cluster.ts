import type { z } from "@hono/zod-openapi";
import { findUpgrade, type VersionCatalogue } from "../../shared/kubernetes-version.ts";
import { toTimestamp } from "../http/contract/timestamp.ts";
import type { ProjectedCluster } from "../projection/store.ts";
import type { clusterRecord } from "./schema.ts";

export type ClusterRecord = z.output<typeof clusterRecord>;

/**
 * The cluster record of the interface. Null: plan, status_message and first_ready_at while there is none. Absent:
 * current_version, apiserver_url and worker_subnet until the operator reported one. The operator speaks of the fields
 * of the custom resource; here they have their wire names.
 */
export function presentCluster(cluster: ProjectedCluster, catalogue: VersionCatalogue): ClusterRecord {
  const { metadata, spec, status } = cluster.object;
  return {
    id: cluster.id,
    org_id: cluster.orgId,
    name: cluster.displayName,
    status: cluster.status,
    status_message: status?.message?.replaceAll("spec.version", "k8s_version") ?? null,
    conditions: presentConditions(status?.conditions),
    plan: spec.plan ?? null,
    k8s_version: wantedVersionOf(cluster.object),
    ...(status?.version === undefined ? {} : { current_version: withoutPrefix(status.version) }),
    ...(status?.apiServerURL === undefined ? {} : { apiserver_url: status.apiServerURL }),
    ...(status?.workerSubnet === undefined ? {} : { worker_subnet: status.workerSubnet }),
    public_endpoint: spec.publicEndpoint,
    node_pools: status?.nodePools ?? { total: 0, ready: 0 },
    nodes: status?.nodes ?? { total: 0, ready: 0 },
    upgrade_available:
      status?.version !== undefined && findUpgrade(catalogue, withoutPrefix(status.version)) !== undefined,
    generation: metadata.generation ?? 1,
    // Before anybody has looked at the object the custom resource says -1.
    observed_generation: Math.max(0, status?.observedGeneration ?? 0),
    first_ready_at: toTimestamp(status?.firstReadyAt),
    created_at: toTimestamp(metadata.creationTimestamp) ?? cluster.updatedAt.toISOString(),
    updated_at: cluster.updatedAt.toISOString(),
  };
}

/** Where a cluster is in the interface. */
export function locationOf({ orgId, id }: ProjectedCluster): string {
  return `/api/v1/organizations/${orgId}/clusters/${id}`;
}

type Conditions = NonNullable<ProjectedCluster["object"]["status"]>["conditions"];

function presentConditions(conditions: Conditions): ClusterRecord["conditions"] {
  return (conditions ?? []).map(({ type, status, reason, message, lastTransitionTime }) => ({
    type,
    status,
    reason,
    message,
    last_transition_time: toTimestamp(lastTransitionTime) ?? lastTransitionTime,
  }));
}

/** The version wanted, in full. An object applied by people may ask for MAJOR.MINOR; the full version is what the operator made of it. */
export function wantedVersionOf({ spec, status }: ProjectedCluster["object"]): string {
  const wanted = withoutPrefix(spec.version);
  const isFull = wanted.split(".").length === 3;
  return isFull || status?.targetVersion === undefined ? wanted : withoutPrefix(status.targetVersion);
}

/** A version as the interface writes it. */
export function withoutPrefix(version: string): string {
  return version.replace(/^v/, "");
}

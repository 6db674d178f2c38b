import { findCondition } from "../../../shared/controller/conditions.ts";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";

export const CLUSTER_STATUSES = [
  "provisioning",
  "running",
  "upgrading",
  "degraded",
  "deleting",
  "failed",
] as const;
export type ClusterStatusName = (typeof CLUSTER_STATUSES)[number];

export const NODE_POOL_STATUSES = ["provisioning", "ready", "scaling", "deleting", "failed"] as const;
export type NodePoolStatusName = (typeof NODE_POOL_STATUSES)[number];

const CLUSTER_STATUS_BY_PHASE: Record<string, ClusterStatusName> = {
  Provisioning: "provisioning",
  Ready: "running",
  Scaling: "running",
  Upgrading: "upgrading",
  Degraded: "degraded",
  Deleting: "deleting",
  Failed: "failed",
};

const NODE_POOL_STATUS_BY_PHASE: Record<string, NodePoolStatusName> = {
  Provisioning: "provisioning",
  Ready: "ready",
  Scaling: "scaling",
  Deleting: "deleting",
  Failed: "failed",
};

/** Whether the operator has not reported on the current generation yet. */
export function isUnobserved({ metadata, status }: Pick<Cluster | NodePool, "metadata" | "status">): boolean {
  return (status?.observedGeneration ?? 0) < (metadata.generation ?? 1);
}

/**
 * The status of a cluster in REST. An object with a deletionTimestamp is deleting before the operator reports it, one
 * without a phase is provisioning, and a running one that was given another version is upgrading.
 */
export function clusterStatusOf(
  cluster: Pick<Cluster, "metadata" | "status"> & { spec: Pick<Cluster["spec"], "version"> },
): ClusterStatusName {
  if (cluster.metadata.deletionTimestamp !== undefined) return "deleting";
  const status = CLUSTER_STATUS_BY_PHASE[cluster.status?.phase ?? "Provisioning"] ?? "provisioning";
  return status === "running" && isUnobserved(cluster) && isUpgrade(cluster) ? "upgrading" : status;
}

/**
 * The status of a node pool in REST, by the same rules as a cluster's. A change that the operator has not reported on yet
 * leaves no pool ready or failed: it is scaling, as during the change.
 */
export function nodePoolStatusOf(pool: Pick<NodePool, "metadata" | "status">): NodePoolStatusName {
  if (pool.metadata.deletionTimestamp !== undefined) return "deleting";
  if (isUnobserved(pool)) return pool.status?.firstReadyAt === undefined ? "provisioning" : "scaling";
  return NODE_POOL_STATUS_BY_PHASE[pool.status?.phase ?? "Provisioning"] ?? "provisioning";
}

/** What an object waits for, or what went wrong and how to fix it, as its operator words it; undefined = nothing is under way. */
export function statusMessageOf(object: Pick<Cluster | NodePool, "metadata" | "status">): string | undefined {
  const { metadata, status } = object;
  const isDeleting = metadata.deletionTimestamp !== undefined;
  const wasSeenDeleting = status?.phase === "Deleting";
  if (isDeleting && !wasSeenDeleting) return "The deletion was accepted and begins within moments.";
  if (!isDeleting && isUnobserved(object))
    return "The request was accepted and is carried out within moments.";
  if (status?.message !== undefined) return status.message;
  const reconciling = findCondition(status?.conditions, "Reconciling");
  return reconciling?.status === "True" ? reconciling.message : undefined;
}

/** MAJOR.MINOR is another version only when it is another minor. */
function isUpgrade({ spec, status }: Parameters<typeof clusterStatusOf>[0]): boolean {
  const wanted = spec.version.replace(/^v/, "");
  const target = (status?.targetVersion ?? status?.version)?.replace(/^v/, "");
  return target !== undefined && target !== wanted && !target.startsWith(`${wanted}.`);
}

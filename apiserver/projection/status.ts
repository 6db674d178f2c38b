import type { Cluster } from "../../shared/crd/cluster.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";

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

/**
 * The status of a cluster in REST. An object with a deletionTimestamp is deleting before the operator reports it, one
 * without a phase is provisioning.
 */
export function clusterStatusOf(cluster: Pick<Cluster, "metadata" | "status">): ClusterStatusName {
  if (cluster.metadata.deletionTimestamp !== undefined) return "deleting";
  return CLUSTER_STATUS_BY_PHASE[cluster.status?.phase ?? "Provisioning"] ?? "provisioning";
}

/** The status of a node pool in REST, by the same rules as a cluster's. */
export function nodePoolStatusOf(pool: Pick<NodePool, "metadata" | "status">): NodePoolStatusName {
  if (pool.metadata.deletionTimestamp !== undefined) return "deleting";
  return NODE_POOL_STATUS_BY_PHASE[pool.status?.phase ?? "Provisioning"] ?? "provisioning";
}

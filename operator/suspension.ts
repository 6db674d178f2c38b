import type { Cluster } from "../shared/crd/cluster.ts";

export const SUSPENDED =
  "The cluster is suspended: nothing about it is changed, and what runs continues to run. Remove spec.suspend to resume it, or ask the platform's operator.";

/**
 * Whether the operator may change nothing of this cluster and its node pools, and issue no access. A deletion is carried out
 * all the same: whoever must keep a cluster holds it. Admin kubeconfigs are rotated and rights revoked as ever.
 */
export function isSuspended(cluster: Cluster | undefined): boolean {
  return cluster?.spec.suspend === true && cluster.metadata.deletionTimestamp === undefined;
}

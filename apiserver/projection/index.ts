/** What other slices may use of the projection: reading it, keeping it up to date after a write, and names. */
export { isNameInFlight, releaseLeases, releaseName, reserveName } from "./name-reservations.ts";
export {
  type ProjectedCluster,
  type ProjectedNodePool,
  toProjectedCluster,
  toProjectedNodePool,
} from "./project.ts";
export { selectQuotaUse } from "./quota-use.ts";
export {
  findCluster,
  findClusterIds,
  findClusterIdsOfPools,
  findLastSeen,
  findNodePool,
  findServedClusterIds,
  hasClusterRecord,
  isClusterServed,
  listAllNodePools,
  listClusters,
  listNodePools,
} from "./read.ts";
export { CLUSTER_STATUSES, NODE_POOL_STATUSES } from "./status.ts";
export { projectObservations } from "./upsert.ts";

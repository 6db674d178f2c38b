/** What other slices may use of the projection: reading it, and keeping it up to date after a write. */
export {
  clusterCreated,
  clusterDegraded,
  clusterDeleted,
  clusterReady,
  clusterUpgraded,
  nodeReplaced,
} from "./event-schema.ts";
export {
  CLUSTER_STATUSES,
  externalWritersOf,
  NODE_POOL_STATUSES,
  type ProjectedCluster,
  type ProjectedNodePool,
  type ProjectedObject,
  quotaUseOf,
  statusMessageOf,
  toProjectedCluster,
  toProjectedNodePool,
  withKeptNodes,
} from "./project.ts";
export { findClusterIdsOfPools, hasRecentCluster, hasRecord, selectNameHolders } from "./records.ts";
export {
  type ClusterState,
  findCluster,
  findClusterStates,
  findNodePool,
  findServedClusterIds,
  isClusterServed,
  listAllNodePools,
  listClusters,
  listExpiring,
  listNodePools,
  selectQuotaUse,
} from "./served-objects.ts";
export {
  findLastStored,
  findLastSyncedAt,
  findProjectedPlaces,
  readClusterLabels,
  readLabelValues,
} from "./stored-objects.ts";
export { projectObservations } from "./upsert.ts";

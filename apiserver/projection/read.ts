import { and, asc, desc, eq, getTableColumns, gt, ilike, inArray, isNull, type SQL } from "drizzle-orm";
import { NIL_ID } from "../../shared/id.ts";
import type { Queryable } from "../db/client.ts";
import type { PageRequest } from "../http/contract/page.ts";
import type { ProjectedCluster, ProjectedNodePool } from "./project.ts";
import type { ClusterStatusName } from "./status.ts";
import { clusterRecords, nodePoolRecords, projectedClusters, projectedNodePools } from "./table.ts";

const { deletedAt: _removedAt, ...clusterColumns } = getTableColumns(projectedClusters);
const {
  deletedAt: _endedAt,
  quotaNodes: _nodes,
  quotaVcpus: _vcpus,
  quotaMemoryGB: _memoryGB,
  ...nodePoolColumns
} = getTableColumns(projectedNodePools);

/** A cluster of the organization that is not deleted. */
export async function findCluster(
  db: Queryable,
  orgId: string,
  clusterId: string,
): Promise<ProjectedCluster | undefined> {
  const [cluster] = await db
    .select(clusterColumns)
    .from(projectedClusters)
    .where(and(isLiveCluster(orgId), eq(projectedClusters.id, clusterId)));
  return cluster;
}

export interface ClusterFilter extends PageRequest {
  status?: ClusterStatusName | undefined;
  /** The whole name, ignoring case. */
  name?: string | undefined;
}

/** A page of the organization's clusters (of all clusters without one), ordered by id; one row more than `limit`. */
export async function listClusters(
  db: Queryable,
  orgId: string | undefined,
  filter: ClusterFilter,
): Promise<ProjectedCluster[]> {
  const conditions: (SQL | undefined)[] = [
    orgId === undefined ? isNull(projectedClusters.deletedAt) : isLiveCluster(orgId),
  ];
  if (filter.cursor !== undefined) conditions.push(gt(projectedClusters.id, filter.cursor));
  if (filter.status !== undefined) conditions.push(eq(projectedClusters.status, filter.status));
  if (filter.name !== undefined)
    conditions.push(ilike(projectedClusters.displayName, escapeLike(filter.name)));
  const rows = await db
    .select(clusterColumns)
    .from(projectedClusters)
    .where(and(...conditions))
    .orderBy(asc(projectedClusters.id))
    .limit(filter.limit + 1);
  return rows;
}

/** A pool of the organization's cluster that is not deleted. */
export async function findNodePool(
  db: Queryable,
  orgId: string,
  clusterId: string,
  poolId: string,
): Promise<ProjectedNodePool | undefined> {
  const [pool] = await db
    .select(nodePoolColumns)
    .from(projectedNodePools)
    .where(and(isLivePool(orgId, clusterId), eq(projectedNodePools.id, poolId)));
  return pool;
}

/** A page of the cluster's pools, ordered by id; one row more than `limit`. */
export async function listNodePools(
  db: Queryable,
  orgId: string,
  clusterId: string,
  { cursor = NIL_ID, limit }: PageRequest,
): Promise<ProjectedNodePool[]> {
  return db
    .select(nodePoolColumns)
    .from(projectedNodePools)
    .where(and(isLivePool(orgId, clusterId), gt(projectedNodePools.id, cursor)))
    .orderBy(asc(projectedNodePools.id))
    .limit(limit + 1);
}

/** Every pool of the cluster, ordered by id. */
export async function listAllNodePools(
  db: Queryable,
  orgId: string,
  clusterId: string,
): Promise<ProjectedNodePool[]> {
  const rows = await db
    .select(nodePoolColumns)
    .from(projectedNodePools)
    .where(isLivePool(orgId, clusterId))
    .orderBy(asc(projectedNodePools.id));
  return rows;
}

/** The stored object with this metadata.uid, tombstones included. */
export async function findByUid(
  db: Queryable,
  uid: string,
): Promise<ProjectedCluster | ProjectedNodePool | undefined> {
  const clusters = await db
    .select(clusterColumns)
    .from(projectedClusters)
    .where(eq(projectedClusters.uid, uid));
  if (clusters[0] !== undefined) return clusters[0];
  const nodePools = await db
    .select(nodePoolColumns)
    .from(projectedNodePools)
    .where(eq(projectedNodePools.uid, uid));
  return nodePools[0];
}

/** The last stored object with this public id, tombstones included. */
export async function findLastSeen(
  db: Queryable,
  id: string,
): Promise<ProjectedCluster | ProjectedNodePool | undefined> {
  const newest = (table: typeof projectedClusters | typeof projectedNodePools) => desc(table.resourceVersion);
  const clusters = await db
    .select(clusterColumns)
    .from(projectedClusters)
    .where(eq(projectedClusters.id, id))
    .orderBy(newest(projectedClusters))
    .limit(1);
  if (clusters[0] !== undefined) return clusters[0];
  const nodePools = await db
    .select(nodePoolColumns)
    .from(projectedNodePools)
    .where(eq(projectedNodePools.id, id))
    .orderBy(newest(projectedNodePools))
    .limit(1);
  return nodePools[0];
}

/** All objects that are not deleted, to compare them with the Kubernetes API. */
export async function listObjectNames(
  db: Queryable,
): Promise<{ clusters: ObjectName[]; nodePools: ObjectName[] }> {
  const columns = (table: typeof projectedClusters | typeof projectedNodePools) => ({
    uid: table.uid,
    namespace: table.namespace,
    name: table.name,
  });
  const clusters = await db
    .select(columns(projectedClusters))
    .from(projectedClusters)
    .where(isNull(projectedClusters.deletedAt));
  const nodePools = await db
    .select(columns(projectedNodePools))
    .from(projectedNodePools)
    .where(isNull(projectedNodePools.deletedAt));
  return { clusters, nodePools };
}

export interface ObjectName {
  uid: string;
  namespace: string;
  name: string;
}

/** The cluster to which each of these objects belongs or belonged, by metadata.uid; unknown ones are left out. */
export async function findClusterIds(db: Queryable, uids: readonly string[]): Promise<Map<string, string>> {
  if (uids.length === 0) return new Map();
  const clusters = await db
    .select({ uid: projectedClusters.uid, clusterId: projectedClusters.id })
    .from(projectedClusters)
    .where(inArray(projectedClusters.uid, [...uids]));
  const nodePools = await db
    .select({ uid: projectedNodePools.uid, clusterId: projectedNodePools.clusterId })
    .from(projectedNodePools)
    .where(inArray(projectedNodePools.uid, [...uids]));
  return new Map([...clusters, ...nodePools].map(({ uid, clusterId }) => [uid, clusterId]));
}

/** The cluster of each of these pools, also of deleted ones; unknown ones are left out. */
export async function findClusterIdsOfPools(
  db: Queryable,
  poolIds: readonly string[],
): Promise<Map<string, string>> {
  if (poolIds.length === 0) return new Map();
  const rows = await db
    .select({ id: nodePoolRecords.id, clusterId: nodePoolRecords.clusterId })
    .from(nodePoolRecords)
    .where(inArray(nodePoolRecords.id, [...poolIds]));
  return new Map(rows.map(({ id, clusterId }) => [id, clusterId]));
}

/** Whether the organization has this cluster and it is not deleted. */
export async function isClusterServed(db: Queryable, orgId: string, clusterId: string): Promise<boolean> {
  const rows = await db
    .select({ id: projectedClusters.id })
    .from(projectedClusters)
    .where(and(isLiveCluster(orgId), eq(projectedClusters.id, clusterId)));
  return rows.length > 0;
}

/** Which of these clusters exist and are not deleted. */
export async function findServedClusterIds(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db
    .select({ id: projectedClusters.id })
    .from(projectedClusters)
    .where(and(inArray(projectedClusters.id, [...ids]), isNull(projectedClusters.deletedAt)));
  return new Set(rows.map(({ id }) => id));
}

/** Whether the organization ever had this cluster, deleted or not. */
export async function hasClusterRecord(db: Queryable, orgId: string, clusterId: string): Promise<boolean> {
  const rows = await db
    .select({ id: clusterRecords.id })
    .from(clusterRecords)
    .where(and(eq(clusterRecords.orgId, orgId), eq(clusterRecords.id, clusterId)));
  return rows.length > 0;
}

function isLiveCluster(orgId: string) {
  return and(eq(projectedClusters.orgId, orgId), isNull(projectedClusters.deletedAt));
}

function isLivePool(orgId: string, clusterId: string) {
  return and(
    eq(projectedNodePools.orgId, orgId),
    eq(projectedNodePools.clusterId, clusterId),
    isNull(projectedNodePools.deletedAt),
  );
}

function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, (character) => `\\${character}`);
}

import { and, asc, desc, eq, getTableColumns, gt, ilike, inArray, isNull, type SQL, sql } from "drizzle-orm";
import { batchById, isOneOf } from "../db/batch.ts";
import { type Database, prepareOnce, type Queryable } from "../db/client.ts";
import { NIL_ID } from "../http/contract/id.ts";
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

/** The transaction that wrote the row, and the object's version: a database that was set back counts transactions anew. */
const ROW_VERSION = sql<string>`${projectedClusters}.xmin::text || '/' || ${projectedClusters.resourceVersion}`;

/** A cluster as it is stored, and the version of its row: see `findClusterVersion`. */
export interface VersionedCluster extends ProjectedCluster {
  rowVersion: string;
}

const findClusters = prepareOnce((db) =>
  db
    .select({ ...clusterColumns, rowVersion: ROW_VERSION })
    .from(projectedClusters)
    .where(and(isOneOf(projectedClusters.id, "ids"), isNull(projectedClusters.deletedAt)))
    .prepare("find_clusters"),
);
const lookUpCluster = batchById(findClusters);

const findClusterVersions = prepareOnce((db) =>
  db
    .select({ id: projectedClusters.id, rowVersion: ROW_VERSION })
    .from(projectedClusters)
    .where(and(isOneOf(projectedClusters.id, "ids"), isNull(projectedClusters.deletedAt)))
    .prepare("find_cluster_versions"),
);
const lookUpClusterVersion = batchById(findClusterVersions);

/** The version of a cluster's row: another one whenever the row was written. Undefined = the cluster was removed. */
export async function findClusterVersion(db: Database, clusterId: string): Promise<string | undefined> {
  return (await lookUpClusterVersion(db, clusterId))?.rowVersion;
}

/** A cluster of the organization that has not been removed. */
export async function findCluster(
  db: Database,
  orgId: string,
  clusterId: string,
): Promise<VersionedCluster | undefined> {
  const cluster = await lookUpCluster(db, clusterId);
  return cluster?.orgId === orgId ? cluster : undefined;
}

export interface ClusterFilter extends PageRequest {
  status?: ClusterStatusName | undefined;
  /** The whole name, letter case aside. */
  name?: string | undefined;
}

/** One page of the organization's clusters (of all, without one) and one more, in the order of their ids. */
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

const findNodePools = prepareOnce((db) =>
  db
    .select(nodePoolColumns)
    .from(projectedNodePools)
    .where(and(isOneOf(projectedNodePools.id, "ids"), isNull(projectedNodePools.deletedAt)))
    .prepare("find_node_pools"),
);
const lookUpNodePool = batchById(findNodePools);

/** A pool of the organization's cluster that has not been removed. */
export async function findNodePool(
  db: Database,
  orgId: string,
  clusterId: string,
  poolId: string,
): Promise<ProjectedNodePool | undefined> {
  const pool = await lookUpNodePool(db, poolId);
  return pool?.orgId === orgId && pool.clusterId === clusterId ? pool : undefined;
}

const listNodePoolsQuery = prepareOnce((db) =>
  db
    .select(nodePoolColumns)
    .from(projectedNodePools)
    .where(
      and(
        eq(projectedNodePools.orgId, sql.placeholder("orgId")),
        eq(projectedNodePools.clusterId, sql.placeholder("clusterId")),
        isNull(projectedNodePools.deletedAt),
        gt(projectedNodePools.id, sql.placeholder("cursor")),
      ),
    )
    .orderBy(asc(projectedNodePools.id))
    .limit(sql.placeholder("limit"))
    .prepare("list_node_pools"),
);

/** One page of the cluster's pools and one more, in the order of their ids. */
export async function listNodePools(
  db: Database,
  orgId: string,
  clusterId: string,
  { cursor = NIL_ID, limit }: PageRequest,
): Promise<ProjectedNodePool[]> {
  const rows = await listNodePoolsQuery(db).execute({ orgId, clusterId, cursor, limit: limit + 1 });
  return rows;
}

/** Every pool of the cluster, in the order of their ids. */
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

/** What is stored of an object by its metadata.uid, tombstones included. */
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

/** What was last stored under a public id, tombstones included. */
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

/** The places of everything that is served now, for comparing them with the Kubernetes API. */
export async function listPlaces(db: Queryable): Promise<{ clusters: Place[]; nodePools: Place[] }> {
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

export interface Place {
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

/** The cluster of each of these pools, also of removed ones; unknown ones are left out. */
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

const isServedQuery = prepareOnce((db) =>
  db
    .select({ id: projectedClusters.id })
    .from(projectedClusters)
    .where(
      and(
        eq(projectedClusters.orgId, sql.placeholder("orgId")),
        eq(projectedClusters.id, sql.placeholder("clusterId")),
        isNull(projectedClusters.deletedAt),
      ),
    )
    .prepare("is_cluster_served"),
);

/** Whether the organization has this cluster now. */
export async function isClusterServed(db: Database, orgId: string, clusterId: string): Promise<boolean> {
  return (await isServedQuery(db).execute({ orgId, clusterId })).length > 0;
}

const servedAmongQuery = prepareOnce((db) =>
  db
    .select({ id: projectedClusters.id })
    .from(projectedClusters)
    .where(
      and(
        sql`${projectedClusters.id} in (select value::uuid
          from json_array_elements_text(${sql.placeholder("ids")}::text::json))`,
        isNull(projectedClusters.deletedAt),
      ),
    )
    .prepare("served_clusters_among"),
);

/** Which of these clusters have not been removed. */
export async function findServedClusterIds(db: Database, ids: readonly string[]): Promise<Set<string>> {
  const rows = await servedAmongQuery(db).execute({ ids: JSON.stringify(ids) });
  return new Set(rows.map(({ id }) => id));
}

/** Whether the organization ever had this cluster, also when it has been removed. */
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

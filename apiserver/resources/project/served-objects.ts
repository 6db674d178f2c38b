import {
  and,
  asc,
  eq,
  getTableColumns,
  gt,
  ilike,
  inArray,
  isNull,
  type Placeholder,
  type SQL,
  sql,
} from "drizzle-orm";
import { NIL_ID } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import { prepareStatement } from "../../db/statement.ts";
import { compileSelector, type LabelRequirement } from "../../http/contract/label-selector.ts";
import type { PageRequest } from "../../http/contract/page.ts";
import { writeIntents } from "../table.ts";
import type { ClusterStatusName, ProjectedCluster, ProjectedNodePool } from "./project.ts";
import { hasEnd, projectedClusters, projectedNodePools } from "./table.ts";

const {
  deletedAt: _clusterDeletedAt,
  labels: _clusterLabels,
  ...clusterColumns
} = getTableColumns(projectedClusters);
const {
  deletedAt: _poolDeletedAt,
  labels: _poolLabels,
  quotaNodes: _quotaNodes,
  quotaVcpus: _quotaVcpus,
  quotaMemoryGB: _quotaMemoryGB,
  ...nodePoolColumns
} = getTableColumns(projectedNodePools);

/** The columns of a ProjectedCluster and of a ProjectedNodePool. */
export { clusterColumns, nodePoolColumns };

export interface ClusterFilter extends PageRequest {
  status?: ClusterStatusName | undefined;
  /** The whole name, ignoring case. */
  name?: string | undefined;
  labels?: readonly LabelRequirement[] | undefined;
}

export interface NodePoolFilter extends PageRequest {
  labels?: readonly LabelRequirement[] | undefined;
}

const selectCluster = prepareStatement(["orgId", "clusterId"], (db, { orgId, clusterId }) =>
  db
    .select(clusterColumns)
    .from(projectedClusters)
    .where(and(isServedCluster(orgId), eq(projectedClusters.id, clusterId))),
);

/** A cluster of the organization that is not deleted. */
export async function findCluster(
  db: Queryable,
  orgId: string,
  clusterId: string,
): Promise<ProjectedCluster | undefined> {
  const [cluster] = await selectCluster(db, { orgId, clusterId });
  return cluster;
}

/** A page of the organization's clusters (of all clusters without one), ordered by id; one row more than `limit`. */
export async function listClusters(
  db: Queryable,
  orgId: string | undefined,
  filter: ClusterFilter,
): Promise<ProjectedCluster[]> {
  const conditions: (SQL | undefined)[] = [
    orgId === undefined ? isNull(projectedClusters.deletedAt) : isServedCluster(orgId),
  ];
  if (filter.cursor !== undefined) conditions.push(gt(projectedClusters.id, filter.cursor));
  if (filter.status !== undefined) conditions.push(eq(projectedClusters.status, filter.status));
  if (filter.name !== undefined)
    conditions.push(ilike(projectedClusters.displayName, escapeLike(filter.name)));
  if (filter.labels !== undefined && filter.labels.length > 0)
    conditions.push(compileSelector(projectedClusters.labels, filter.labels));
  const rows = await db
    .select(clusterColumns)
    .from(projectedClusters)
    .where(and(...conditions))
    .orderBy(asc(projectedClusters.id))
    .limit(filter.limit + 1);
  return rows;
}

const selectNodePool = prepareStatement(
  ["orgId", "clusterId", "poolId"],
  (db, { orgId, clusterId, poolId }) =>
    db
      .select(nodePoolColumns)
      .from(projectedNodePools)
      .where(and(isServedPool(orgId, clusterId), eq(projectedNodePools.id, poolId))),
);

/** A pool of the organization's cluster that is not deleted. */
export async function findNodePool(
  db: Queryable,
  orgId: string,
  clusterId: string,
  poolId: string,
): Promise<ProjectedNodePool | undefined> {
  const [pool] = await selectNodePool(db, { orgId, clusterId, poolId });
  return pool;
}

const selectNodePools = prepareStatement(
  ["orgId", "clusterId", "cursor", "limit"],
  (db, { orgId, clusterId, cursor, limit }) =>
    db
      .select(nodePoolColumns)
      .from(projectedNodePools)
      .where(and(isServedPool(orgId, clusterId), gt(projectedNodePools.id, cursor)))
      .orderBy(asc(projectedNodePools.id))
      .limit(limit),
);

/** A page of the cluster's pools, ordered by id; one row more than `limit`. */
export async function listNodePools(
  db: Queryable,
  orgId: string,
  clusterId: string,
  { cursor = NIL_ID, limit, labels = [] }: NodePoolFilter,
): Promise<ProjectedNodePool[]> {
  if (labels.length > 0) {
    const isSelected = compileSelector(projectedNodePools.labels, labels);
    return db
      .select(nodePoolColumns)
      .from(projectedNodePools)
      .where(and(isServedPool(orgId, clusterId), gt(projectedNodePools.id, cursor), isSelected))
      .orderBy(asc(projectedNodePools.id))
      .limit(limit + 1);
  }
  return selectNodePools(db, { orgId, clusterId, cursor, limit: limit + 1 });
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
    .where(isServedPool(orgId, clusterId))
    .orderBy(asc(projectedNodePools.id));
  return rows;
}

/** Objects of all organizations that have an end date, ordered by id. */
export async function listExpiring(
  db: Queryable,
  kind: "cluster" | "node_pool",
  { cursor, limit }: { cursor: string; limit: number },
): Promise<(ProjectedCluster | ProjectedNodePool)[]> {
  const table = kind === "cluster" ? projectedClusters : projectedNodePools;
  const query = db
    .select(kind === "cluster" ? clusterColumns : nodePoolColumns)
    .from(table)
    .where(and(isNull(table.deletedAt), hasEnd(table), gt(table.id, cursor)))
    .orderBy(asc(table.id))
    .limit(limit);
  return query as unknown as Promise<(ProjectedCluster | ProjectedNodePool)[]>;
}

/** Whether the organization has this cluster and it is not deleted. */
export async function isClusterServed(db: Queryable, orgId: string, clusterId: string): Promise<boolean> {
  const rows = await db
    .select({ id: projectedClusters.id })
    .from(projectedClusters)
    .where(and(isServedCluster(orgId), eq(projectedClusters.id, clusterId)));
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

/** The state of a cluster that the event feed begins with. */
export type ClusterState = Pick<ProjectedCluster, "id" | "orgId" | "status" | "object">;

/** The present state of those of these clusters that are not deleted. */
export async function findClusterStates(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, ClusterState>> {
  const { id, orgId, status, object } = projectedClusters;
  const rows = await db
    .select({ id, orgId, status, object })
    .from(projectedClusters)
    .where(and(inArray(id, [...ids]), isNull(projectedClusters.deletedAt)));
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * A query of the quota use of an organization's objects and of the writes under way: object_id, clusters, node_pools,
 * nodes, vcpus, memory_gb. An object counts until it is deleted, however it was created.
 */
export function selectQuotaUse(orgId: string): SQL {
  return sql`
    select id as object_id, 1 as clusters, 0 as node_pools, 0 as nodes, 0 as vcpus, 0 as memory_gb
    from ${projectedClusters} where org_id = ${orgId} and deleted_at is null
    union all
    select id, 0, 1, quota_nodes, quota_vcpus, quota_memory_gb
    from ${projectedNodePools} where org_id = ${orgId} and deleted_at is null
    union all
    select object_id, clusters, node_pools, nodes, vcpus, memory_gb from ${writeIntents} where org_id = ${orgId}`;
}

function isServedCluster(orgId: string | Placeholder) {
  return and(eq(projectedClusters.orgId, orgId), isNull(projectedClusters.deletedAt));
}

function isServedPool(orgId: string | Placeholder, clusterId: string | Placeholder) {
  return and(
    eq(projectedNodePools.orgId, orgId),
    eq(projectedNodePools.clusterId, clusterId),
    isNull(projectedNodePools.deletedAt),
  );
}

function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, (character) => `\\${character}`);
}

import { and, desc, eq, inArray, isNull, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { Labels } from "../../../shared/crd/labels.ts";
import type { Queryable } from "../../db/client.ts";
import type { ProjectedCluster, ProjectedNodePool } from "./project.ts";
import { clusterColumns, nodePoolColumns } from "./served-objects.ts";
import { clusterRecords, projectedClusters, projectedNodePools, syncPeriods } from "./table.ts";

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
export async function findLastStored(
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

/**
 * The value of a label of each of an organization's clusters and node pools that has it, by id. A deleted one has those
 * labels that it had last.
 */
export function readLabelValues(db: Queryable, orgId: string, key: string): Promise<Map<string, string>> {
  return readOfLabels(db, [projectedClusters, projectedNodePools], orgId, sql`object.labels ->> ${key}`);
}

/** The labels of each of an organization's clusters that has any, by id; of a deleted one, those that it had last. */
export function readClusterLabels(db: Queryable, orgId: string): Promise<Map<string, Labels>> {
  return readOfLabels(db, [projectedClusters], orgId, sql`object.labels`);
}

async function readOfLabels<Value>(
  db: Queryable,
  tables: readonly (typeof projectedClusters | typeof projectedNodePools)[],
  orgId: string,
  value: SQL,
): Promise<Map<string, Value>> {
  const found = new Map<string, Value>();
  for (const table of tables) {
    // Among several objects with one id the last one counts, and above all the one that is not deleted.
    const rows = await db.execute<{ id: string; value: Value | null }>(sql`
      select object.id, ${value} as value from ${table} as object
      where object.org_id = ${orgId} and object.labels is not null and (object.deleted_at is null or not exists (
        select from ${table} as live where live.id = object.id and live.deleted_at is null))
      order by object.resource_version`);
    for (const { id, value: one } of rows) {
      if (one === null) found.delete(id);
      else found.set(id, one);
    }
  }
  return found;
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

/** Where an object is or was, whose cluster it belongs to, and what its owner calls it. */
export interface ProjectedPlace {
  orgId: string;
  clusterId: string;
  namespace: string;
  displayName: string;
}

/**
 * The place of each of these objects, tombstones included, by metadata.uid. Left out are unknown ones, and those whose
 * cluster is not recorded as one of their organization.
 */
export async function findProjectedPlaces(
  db: Queryable,
  uids: readonly string[],
): Promise<Map<string, ProjectedPlace>> {
  if (uids.length === 0) return new Map();
  const find = (table: typeof projectedClusters | typeof projectedNodePools, clusterId: PgColumn) =>
    db
      .select({
        uid: table.uid,
        orgId: table.orgId,
        clusterId: clusterRecords.id,
        namespace: table.namespace,
        displayName: table.displayName,
      })
      .from(table)
      .innerJoin(
        clusterRecords,
        and(
          eq(clusterRecords.id, clusterId),
          eq(clusterRecords.orgId, table.orgId),
          eq(clusterRecords.namespace, table.namespace),
        ),
      )
      .where(inArray(table.uid, [...uids]));
  const clusters = await find(projectedClusters, projectedClusters.id);
  const nodePools = await find(projectedNodePools, projectedNodePools.clusterId);
  return new Map([...clusters, ...nodePools].map(({ uid, ...place }) => [uid, place]));
}

/** The last instant at which everything that existed was projected; undefined: never yet. */
export async function findLastSyncedAt(db: Queryable): Promise<Date | undefined> {
  const [row] = await db
    .select({ seenAt: syncPeriods.seenAt })
    .from(syncPeriods)
    .orderBy(desc(syncPeriods.seenAt))
    .limit(1);
  return row?.seenAt;
}

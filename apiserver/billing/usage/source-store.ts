import { and, asc, eq, gt, inArray, isNull, ne, or, type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { setExcluded } from "../../db/statement.ts";
import {
  clusterRecords,
  projectedClusters,
  projectedNodePools,
  syncPeriods,
} from "../../resources/project/table.ts";
import { usageSources } from "./table.ts";
import type { SeenCluster, SeenPool, UseEnd } from "./uses.ts";

/** A deletion so soon after an instant at which everything was seen was seen itself. */
const SEEN_WITHIN_MS = 30_000;

/** Where objects of one kind are projected. */
export type SourceKind = "cluster" | "node_pool";

const TABLES = { cluster: projectedClusters, node_pool: projectedNodePools };

/** One version of an object that was checked for the ledger. */
export type CheckedSource = typeof usageSources.$inferInsert;

interface Source<SeenObject> {
  seen: SeenObject;
  version: CheckedSource;
  /** Another object has its id, so that its deletion ends nothing. */
  isReplaced: boolean;
}

/** The uids of objects whose projected version was not checked for the ledger yet, in order, after `cursor`. */
export async function listChangedSources(
  db: Queryable,
  kind: SourceKind,
  { cursor, limit }: { cursor: string; limit: number },
): Promise<string[]> {
  const table = TABLES[kind];
  const rows = await db
    .select({ uid: table.uid })
    .from(table)
    .leftJoin(usageSources, eq(usageSources.uid, table.uid))
    .where(
      and(
        gt(table.uid, cursor),
        or(
          isNull(usageSources.uid),
          ne(usageSources.resourceVersion, table.resourceVersion),
          sql`${usageSources.isDeleted} <> (${table.deletedAt} is not null)`,
        ),
      ),
    )
    .orderBy(asc(table.uid))
    .limit(limit);
  return rows.map(({ uid }) => uid);
}

/** The projected state of these Clusters; the deleted ones first, for another object may have replaced one. */
export async function readSeenClusters(
  tx: Queryable,
  uids: readonly string[],
): Promise<Source<SeenCluster>[]> {
  const rows = await tx
    .select({
      ...seenColumns(projectedClusters),
      clusterId: projectedClusters.id,
      clusterName: projectedClusters.displayName,
      object: projectedClusters.object,
    })
    .from(projectedClusters)
    .where(inArray(projectedClusters.uid, [...uids]))
    .orderBy(isNull(projectedClusters.deletedAt), asc(projectedClusters.uid));
  return rows.map(toSource);
}

/** The projected state of these NodePools; the deleted ones first. */
export async function readSeenPools(tx: Queryable, uids: readonly string[]): Promise<Source<SeenPool>[]> {
  const rows = await tx
    .select({
      ...seenColumns(projectedNodePools),
      nodePoolId: projectedNodePools.id,
      clusterId: projectedNodePools.clusterId,
      clusterName: sql<string>`coalesce(${clusterRecords.name}, '')`,
      plan: sql<string | null>`coalesce(${planWhere(sql`is null`)}, ${planWhere(sql`is not null`)})`,
      object: projectedNodePools.object,
    })
    .from(projectedNodePools)
    .leftJoin(clusterRecords, eq(clusterRecords.id, projectedNodePools.clusterId))
    .where(inArray(projectedNodePools.uid, [...uids]))
    .orderBy(isNull(projectedNodePools.deletedAt), asc(projectedNodePools.uid));
  return rows.map(({ plan, ...row }) => toSource({ ...row, plan: plan || undefined }));
}

/** The plan of the pool's cluster, empty without one; apart for a live cluster, which has an index. */
function planWhere(deletedAt: SQL): SQL {
  return sql`(select coalesce(cluster.object -> 'spec' ->> 'plan', '') from ${projectedClusters} as cluster
    where cluster.id = ${projectedNodePools.clusterId} and cluster.deleted_at ${deletedAt} limit 1)`;
}

/** Records that these versions were checked for the ledger. */
export async function upsertSources(tx: Queryable, sources: readonly CheckedSource[]): Promise<void> {
  if (sources.length === 0) return;
  await tx
    .insert(usageSources)
    .values([...sources])
    .onConflictDoUpdate({ target: usageSources.uid, set: setExcluded(usageSources) });
}

/** In the plain names of the columns: Drizzle leaves out the name of the table where there is only one. */
function seenColumns(table: typeof projectedClusters | typeof projectedNodePools) {
  return {
    uid: table.uid,
    organizationId: table.orgId,
    resourceVersion: table.resourceVersion,
    deletedAt: table.deletedAt,
    isReplaced: sql<boolean>`exists (
      select from ${table} as live where live.id = ${table}.id and live.deleted_at is null)`,
    watchedAt: sql<Date | null>`(
      select max(least(watch.seen_at, ${table}.deleted_at)) from ${syncPeriods} as watch
      where watch.started_at <= ${table}.deleted_at)`.mapWith(table.deletedAt),
  };
}

interface SeenRow {
  uid: string;
  resourceVersion: bigint;
  deletedAt: Date | null;
  watchedAt: Date | null;
  isReplaced: boolean;
}

function toSource<Row extends SeenRow>(row: Row) {
  const { resourceVersion, deletedAt, watchedAt, isReplaced, ...seen } = row;
  return {
    seen: { ...seen, end: deletedAt === null ? undefined : toEnd(deletedAt, watchedAt) },
    version: { uid: row.uid, resourceVersion, isDeleted: deletedAt !== null },
    isReplaced: deletedAt !== null && isReplaced,
  };
}

/** Without a record of any watch the deletion is all that is known. */
function toEnd(deletedAt: Date, watchedAt: Date | null): UseEnd {
  if (watchedAt === null || deletedAt.getTime() - watchedAt.getTime() <= SEEN_WITHIN_MS)
    return { at: deletedAt, reason: "ended" };
  return { at: watchedAt, reason: "not_seen" };
}

import { and, inArray, isNull, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { insertRows, rowSet, setExcluded } from "../db/insert-rows.ts";
import type { StoredVersion } from "./guard.ts";
import type { OutsideWriter } from "./outside-changes.ts";
import type { ProjectedObject } from "./project.ts";
import type { Round } from "./rounds.ts";
import { projectedClusters, projectedNodePools } from "./table.ts";

/** What the projection holds of one object, tombstones included. */
export interface Stored extends StoredVersion {
  status: string;
  displayName: string;
  clusterId: string;
  outsideWriters: OutsideWriter[];
  object: ProjectedObject["object"];
}

const TABLES = { cluster: projectedClusters, node_pool: projectedNodePools };

/** What is stored of these objects, by metadata.uid. */
export async function findStored(
  tx: Queryable,
  kind: Round["kind"],
  objects: readonly ProjectedObject[],
): Promise<Map<string, Stored>> {
  const table = TABLES[kind];
  const rows = await tx
    .select({
      uid: table.uid,
      clusterId: kind === "cluster" ? projectedClusters.id : projectedNodePools.clusterId,
      resourceVersion: table.resourceVersion,
      deletedAt: table.deletedAt,
      status: table.status,
      displayName: table.displayName,
      outsideWriters: table.outsideWriters,
      object: table.object,
    })
    .from(table)
    .where(
      inArray(
        table.uid,
        objects.map(({ uid }) => uid),
      ),
    );
  return new Map(rows.map(({ uid, ...stored }) => [uid, stored]));
}

/** Writes the rows of these objects as they are now; with `deletedAt` they are tombstones. */
export async function writeRows(
  tx: Queryable,
  kind: Round["kind"],
  objects: readonly ProjectedObject[],
  deletedAt: Date | null = null,
): Promise<void> {
  if (objects.length === 0) return;
  const table = TABLES[kind];
  const rows = objects.map((object) => ({ ...object, deletedAt }) as typeof table.$inferInsert);
  await tx.execute(sql`${insertRows(table, rows)} on conflict (uid) do update set ${setExcluded(table)}`);
}

/**
 * An object of the same place or id with another uid is one that a new object replaced: it is served no longer.
 * Returns their last statuses by id.
 */
export async function retireOthers(
  tx: Queryable,
  kind: Round["kind"],
  objects: readonly ProjectedObject[],
): Promise<Map<string, string>> {
  if (objects.length === 0) return new Map();
  const table = TABLES[kind];
  const places = objects.map(({ uid, id, namespace, name }) => ({ uid, id, namespace, name }));
  // Each place is looked up in the two indexes, of which each knows one row at most: a join would read the table.
  const others = sql`select other.uid from ${rowSet(table, places)} as seen cross join lateral (
      (select uid from ${table} where deleted_at is null and id = seen.id limit 1)
      union all
      (select uid from ${table} where deleted_at is null and namespace = seen.namespace and name = seen.name limit 1)
    ) as other where other.uid <> seen.uid`;
  const rows = await tx.execute<{ id: string; status: string }>(
    sql`update ${table} set deleted_at = now() where uid = any(array(${others})) returning id, status`,
  );
  return new Map(rows.map(({ id, status }) => [id, status]));
}

/** Which of these ids are served. */
export async function findServedIds(
  tx: Queryable,
  kind: Round["kind"],
  ids: readonly string[],
): Promise<Set<string>> {
  const table = TABLES[kind];
  const rows = await tx
    .select({ id: table.id })
    .from(table)
    .where(and(inArray(table.id, [...ids]), isNull(table.deletedAt)));
  return new Set(rows.map(({ id }) => id));
}

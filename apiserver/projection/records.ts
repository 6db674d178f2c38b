import { inArray, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { insertRows, rowSet } from "../db/insert-rows.ts";
import { clusterIdOf, type ProjectedObject } from "./project.ts";
import type { Round } from "./rounds.ts";
import { clusterRecords, nodePoolRecords } from "./table.ts";

const TABLES = { cluster: clusterRecords, node_pool: nodePoolRecords };

/**
 * Makes or refreshes the durable records of objects, and says by id which it was. An object whose id belongs to one
 * of another place is left out.
 */
export async function keepRecords(
  tx: Queryable,
  kind: Round["kind"],
  objects: readonly ProjectedObject[],
): Promise<Map<string, "made" | "kept">> {
  if (objects.length === 0) return new Map();
  const records = TABLES[kind];
  const setCluster = kind === "cluster" ? sql`` : sql`, cluster_id = excluded.cluster_id`;
  // A row version that no transaction has locked or replaced was inserted by this statement.
  const rows = await tx.execute<{ id: string; is_new: boolean }>(sql`${insertRows(
    records,
    objects.map(toRecord),
  )} on conflict (id) do update set name = excluded.name, deleted_at = null${setCluster}
    where (${records.orgId}, ${records.namespace}, ${records.objectName})
      = (excluded.org_id, excluded.namespace, excluded.object_name)
    returning id, xmax = 0 as is_new`);
  return new Map(rows.map((row) => [row.id, row.is_new ? "made" : "kept"]));
}

/** Notes in the durable records that objects are gone; returns the ids of those that were not known to be. */
export async function closeRecords(
  tx: Queryable,
  kind: Round["kind"],
  objects: readonly ProjectedObject[],
): Promise<Set<string>> {
  if (objects.length === 0) return new Set();
  const records = TABLES[kind];
  const isOne = inArray(
    records.id,
    objects.map(({ id }) => id),
  );
  const rows = await tx.execute<{ id: string }>(sql`update ${records} set deleted_at = now()
    where ${isOne} and deleted_at is null and (id, org_id, namespace, object_name) in (
      select id, org_id, namespace, object_name from ${rowSet(records, objects.map(toRecord))})
    returning id`);
  return new Set(rows.map(({ id }) => id));
}

function toRecord(object: ProjectedObject) {
  return {
    id: object.id,
    orgId: object.orgId,
    clusterId: clusterIdOf(object),
    namespace: object.namespace,
    objectName: object.name,
    name: object.displayName,
    createdAt: new Date(object.object.metadata.creationTimestamp ?? 0),
    deletedAt: null,
  };
}

import { and, eq, gte, inArray, isNotNull, isNull, or, type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import type { Batch } from "./batches.ts";
import { clusterIdOf, isPool, type ProjectedNodePool, type ProjectedObject } from "./project.ts";
import { clusterRecords, nodePoolRecords, objectRecords } from "./table.ts";

const VIEWS = { cluster: clusterRecords, node_pool: nodePoolRecords };

/**
 * Creates or updates the durable records of objects, and returns by id which it was. An object whose id belongs to an
 * object with another namespaced name, or of the other kind, is left out.
 */
export async function upsertRecords(
  tx: Queryable,
  kind: Batch["kind"],
  objects: readonly ProjectedObject[],
): Promise<Map<string, "created" | "updated">> {
  if (objects.length === 0) return new Map();
  const rows = await tx
    .insert(objectRecords)
    .values(objects.map((object) => toRecord(kind, object)))
    .onConflictDoUpdate({
      target: objectRecords.id,
      set: {
        name: sql`excluded.name`,
        nameKey: sql`excluded.name_key`,
        deletedAt: null,
        clusterId: sql`excluded.cluster_id`,
      },
      setWhere: sql`(${objectRecords.orgId}, ${objectRecords.namespace}, ${objectRecords.objectName},
        ${objectRecords.clusterId} is null)
        = (excluded.org_id, excluded.namespace, excluded.object_name, excluded.cluster_id is null)`,
    })
    // A row version that no transaction has locked or replaced was inserted by this statement.
    .returning({ id: objectRecords.id, isNew: sql<boolean>`xmax = 0` });
  return new Map(rows.map(({ id, isNew }) => [id, isNew ? "created" : "updated"]));
}

/** Marks the records of objects as deleted; returns the ids of those that were not marked yet. */
export async function markRecordsDeleted(
  tx: Queryable,
  kind: Batch["kind"],
  objects: readonly ProjectedObject[],
): Promise<Set<string>> {
  if (objects.length === 0) return new Set();
  const { id: recordId, orgId, namespace, objectName, clusterId, deletedAt } = objectRecords;
  const isOfKind = kind === "cluster" ? isNull(clusterId) : isNotNull(clusterId);
  const isOneOfThese = objects.map((object) =>
    and(
      eq(recordId, object.id),
      eq(orgId, object.orgId),
      eq(namespace, object.namespace),
      eq(objectName, object.name),
    ),
  );
  const rows = await tx
    .update(objectRecords)
    .set({ deletedAt: sql`now()` })
    .where(and(isNull(deletedAt), isOfKind, or(...isOneOfThese)))
    .returning({ id: recordId });
  return new Set(rows.map(({ id }) => id));
}

/** Whether the organization ever had this object, deleted or not. */
export async function hasRecord(
  db: Queryable,
  kind: Batch["kind"],
  orgId: string,
  id: string,
): Promise<boolean> {
  const records = VIEWS[kind];
  const rows = await db
    .select({ id: records.id })
    .from(records)
    .where(and(eq(records.orgId, orgId), eq(records.id, id)));
  return rows.length > 0;
}

/**
 * A query of the objects that have a name within a parent, the organization of clusters or the cluster of pools: object_id,
 * parent_id, name_key. An object of kubectl or GitOps may have the name of another one.
 */
export function selectNameHolders(parent: "organization" | "cluster"): SQL {
  const [table, column] =
    parent === "organization" ? [clusterRecords, "org_id"] : [nodePoolRecords, "cluster_id"];
  return sql`select id as object_id, ${sql.identifier(column)} as parent_id, name_key from ${table}
    where deleted_at is null`;
}

/** Whether the organization has this cluster, or had it and deleted it within the last days. */
export async function hasRecentCluster(
  db: Queryable,
  orgId: string,
  clusterId: string,
  withinDays: number,
): Promise<boolean> {
  const rows = await db
    .select({ id: clusterRecords.id })
    .from(clusterRecords)
    .where(
      and(
        eq(clusterRecords.orgId, orgId),
        eq(clusterRecords.id, clusterId),
        or(
          isNull(clusterRecords.deletedAt),
          gte(clusterRecords.deletedAt, sql`now() - make_interval(days => ${withinDays})`),
        ),
      ),
    );
  return rows.length > 0;
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

/** Where an object is, which never changes. */
export interface Place {
  orgId: string;
  namespace: string;
  objectName: string;
}

export function isSamePlace(one: Place, other: Place): boolean {
  return (
    one.orgId === other.orgId && one.namespace === other.namespace && one.objectName === other.objectName
  );
}

/** Where the records have these ids of one kind, also of deleted objects; unknown ones are left out. */
export async function findRecordedPlaces(
  db: Queryable,
  kind: Batch["kind"],
  ids: readonly string[],
): Promise<Map<string, Place>> {
  if (ids.length === 0) return new Map();
  const { id, orgId, namespace, objectName } = VIEWS[kind];
  const rows = await db
    .select({ id, orgId, namespace, objectName })
    .from(VIEWS[kind])
    .where(inArray(id, [...new Set(ids)]));
  return new Map(rows.map(({ id: found, ...place }) => [found, place]));
}

function toRecord(kind: Batch["kind"], object: ProjectedObject): typeof objectRecords.$inferInsert {
  return {
    id: object.id,
    orgId: object.orgId,
    clusterId: kind === "cluster" ? null : clusterIdOf(object),
    namespace: object.namespace,
    objectName: object.name,
    name: object.displayName,
    nameKey: object.displayName.toLowerCase(),
    createdAt: new Date(object.object.metadata.creationTimestamp ?? 0),
    deletedAt: null,
  };
}

/**
 * Whether a pool belongs to the cluster that it is projected under: the records have that cluster under the name by which the
 * pool's spec refers to it, in the pool's organization and Namespace. The label of a Cluster may hold any cluster's id.
 */
export function classifyCluster(
  { orgId, namespace, object }: Pick<ProjectedNodePool, "orgId" | "namespace" | "object">,
  recorded: Place | undefined,
): "own" | "misplaced" | "unrecorded" {
  if (recorded === undefined) return "unrecorded";
  const named = { orgId, namespace, objectName: object.spec.clusterName };
  return isSamePlace(named, recorded) ? "own" : "misplaced";
}

/** Observations of objects, without the pools that must not be written. */
export interface SeparatedPools<T> {
  writable: T[];
  /** Ids of pools whose cluster is another one. */
  misplaced: string[];
  /** Ids of pools whose cluster had no record yet: they come again. */
  unrecorded: string[];
}

/** Takes out pools by the records of their clusters. */
export function separatePools<T extends { object: ProjectedObject }>(
  items: readonly T[],
  recorded: ReadonlyMap<string, Place>,
): SeparatedPools<T> {
  const separated: SeparatedPools<T> = { writable: [], misplaced: [], unrecorded: [] };
  for (const item of items) {
    const { object } = item;
    const ownership = isPool(object) ? classifyCluster(object, recorded.get(object.clusterId)) : "own";
    if (ownership === "own") separated.writable.push(item);
    else separated[ownership].push(object.id);
  }
  return separated;
}

import { and, eq, isNull, ne, or, type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { announce, appendEvents, findLastStatus, type NewStatusEvent } from "../system-events/store.ts";
import { auditChanges, auditCreation } from "./audit-outside.ts";
import { mayReplace, type StoredVersion } from "./guard.ts";
import { recordTransitions } from "./ledger.ts";
import { confirmName, releaseNames } from "./names.ts";
import type { OutsideWriter } from "./outside-changes.ts";
import type { ProjectedCluster, ProjectedNodePool } from "./project.ts";
import { clusterRecords, nodePoolRecords, projectedClusters, projectedNodePools } from "./table.ts";
import { deletedEntry, hasNewTransitions, ledgerEntriesOf } from "./transitions.ts";

export type ProjectedObject = ProjectedCluster | ProjectedNodePool;

export interface Sight {
  object: ProjectedObject;
  /** The object was seen to be gone; `object` is its last known state. */
  gone?: boolean;
  /** Read with a quorum after the stored row was; see `mayReplace`. */
  authoritative?: boolean;
}

/**
 * Brings the projection up to what was seen, in one transaction with all that follows from it: durable records,
 * name reservations, the ledger of transitions and the status events of the live feed. A sight that is older than
 * what is stored changes nothing. Returns the ids of objects that were refused because another one, elsewhere,
 * already has their id.
 */
export async function projectSights(tx: Queryable, sights: readonly Sight[]): Promise<string[]> {
  await lockObjects(tx, sights);
  const refused: string[] = [];
  const events: NewStatusEvent[] = [];
  for (const sight of sights) {
    const outcome = sight.gone === true ? await remove(tx, sight.object) : await upsert(tx, sight);
    if (outcome === "refused") refused.push(sight.object.id);
    else if (outcome !== undefined) events.push(outcome);
  }
  await appendEvents(tx, events);
  return refused;
}

/** One writer per object; always in the same order, so that two transactions never wait for each other. */
async function lockObjects(tx: Queryable, sights: readonly Sight[]): Promise<void> {
  const uids = [...new Set(sights.map(({ object }) => object.uid))].sort();
  for (const uid of uids)
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`marina object ${uid}`}, 0))`);
}

async function upsert(
  tx: Queryable,
  { object, authoritative = false }: Sight,
): Promise<NewStatusEvent | "refused" | undefined> {
  const stored = await findStored(tx, object);
  const moved = stored !== undefined && stored.clusterId !== clusterIdOf(object);
  const mayWrite = mayReplace(stored, { resourceVersion: object.resourceVersion, authoritative });
  if (!mayWrite && !(moved && stored.deletedAt === null)) return undefined;

  let toldStatus: string | undefined;
  if (stored === undefined || moved || stored.displayName !== object.displayName) {
    const record = await keepRecord(tx, object);
    if (record === "refused") return "refused";
    if (record === "made") await auditCreation(tx, object);
    if (stored === undefined) {
      const replaced = await retireOthers(tx, object);
      // A row that was lost and is made anew is no news: the feed goes on from what it told last.
      toldStatus = replaced ?? (record === "kept" ? await findLastStatus(tx, toPlace(object)) : undefined);
    }
    await confirmName(tx, isPool(object) ? object.clusterId : object.orgId, object.displayName, object.id);
  }
  await writeRow(tx, object);
  if (stored !== undefined) await auditChanges(tx, stored, object);
  if (stored === undefined || hasNewTransitions(stored.object, object.object))
    await recordTransitions(tx, object, ledgerEntriesOf(object));
  const previousStatus = stored?.status ?? toldStatus ?? null;
  return previousStatus === object.status ? undefined : toStatusEvent(object, previousStatus);
}

async function remove(tx: Queryable, object: ProjectedObject): Promise<undefined> {
  const stored = await findStored(tx, object);
  if (stored === undefined || stored.deletedAt === null) await writeRow(tx, object, new Date());
  if (await isServedElsewhere(tx, object)) return;
  const records = isPool(object) ? nodePoolRecords : clusterRecords;
  const closed = await tx
    .update(records)
    .set({ deletedAt: new Date() })
    .where(and(eq(records.id, object.id), isPlaceOf(records, object), isNull(records.deletedAt)))
    .returning({ id: records.id });
  if (closed.length === 0) return;
  await recordTransitions(tx, object, [deletedEntry(new Date())]);
  await releaseNames(tx, object.id);
  await announce(tx, clusterIdOf(object));
}

interface Stored extends StoredVersion {
  status: string;
  displayName: string;
  clusterId: string;
  outsideWriters: OutsideWriter[];
  object: ProjectedObject["object"];
}

async function findStored(tx: Queryable, object: ProjectedObject): Promise<Stored | undefined> {
  if (isPool(object)) {
    const rows = await tx.select().from(projectedNodePools).where(eq(projectedNodePools.uid, object.uid));
    return rows[0];
  }
  const rows = await tx.select().from(projectedClusters).where(eq(projectedClusters.uid, object.uid));
  return rows[0] === undefined ? undefined : { ...rows[0], clusterId: rows[0].id };
}

/** Makes or refreshes the durable record; refused when the id belongs to an object of another place. */
async function keepRecord(tx: Queryable, object: ProjectedObject): Promise<"made" | "kept" | "refused"> {
  const record = {
    id: object.id,
    orgId: object.orgId,
    namespace: object.namespace,
    objectName: object.name,
    name: object.displayName,
    createdAt: new Date(object.object.metadata.creationTimestamp ?? 0),
    deletedAt: null,
  };
  const set = { name: record.name, deletedAt: null };
  // A row version that no transaction has locked or replaced was inserted by this statement.
  const isNew = sql<boolean>`xmax = 0`;
  const kept = isPool(object)
    ? await tx
        .insert(nodePoolRecords)
        .values({ ...record, clusterId: object.clusterId })
        .onConflictDoUpdate({
          target: nodePoolRecords.id,
          set: { ...set, clusterId: object.clusterId },
          setWhere: isPlaceOf(nodePoolRecords, object),
        })
        .returning({ isNew })
    : await tx
        .insert(clusterRecords)
        .values(record)
        .onConflictDoUpdate({
          target: clusterRecords.id,
          set,
          setWhere: isPlaceOf(clusterRecords, object),
        })
        .returning({ isNew });
  if (kept[0] === undefined) return "refused";
  return kept[0].isNew ? "made" : "kept";
}

/** An object of the same place with another uid is the one that this one replaced; returns its last status. */
async function retireOthers(tx: Queryable, object: ProjectedObject): Promise<string | undefined> {
  const table = isPool(object) ? projectedNodePools : projectedClusters;
  const rows = await tx
    .update(table)
    .set({ deletedAt: new Date() })
    .where(
      and(
        ne(table.uid, object.uid),
        isNull(table.deletedAt),
        or(eq(table.id, object.id), and(eq(table.namespace, object.namespace), eq(table.name, object.name))),
      ),
    )
    .returning({ id: table.id, status: table.status });
  return rows.find(({ id }) => id === object.id)?.status;
}

async function writeRow(
  tx: Queryable,
  object: ProjectedObject,
  deletedAt: Date | null = null,
): Promise<void> {
  if (isPool(object)) {
    const values = { ...object, deletedAt };
    await tx
      .insert(projectedNodePools)
      .values(values)
      .onConflictDoUpdate({ target: projectedNodePools.uid, set: values });
    return;
  }
  const values = { ...object, deletedAt };
  await tx
    .insert(projectedClusters)
    .values(values)
    .onConflictDoUpdate({ target: projectedClusters.uid, set: values });
}

async function isServedElsewhere(tx: Queryable, object: ProjectedObject): Promise<boolean> {
  const table = isPool(object) ? projectedNodePools : projectedClusters;
  const rows = await tx
    .select({ uid: table.uid })
    .from(table)
    .where(and(eq(table.id, object.id), ne(table.uid, object.uid), isNull(table.deletedAt)));
  return rows.length > 0;
}

function isPlaceOf(records: typeof clusterRecords | typeof nodePoolRecords, object: ProjectedObject): SQL {
  return sql`${records.orgId} = ${object.orgId} and ${records.namespace} = ${object.namespace}
    and ${records.objectName} = ${object.name}`;
}

function toStatusEvent(object: ProjectedObject, previousStatus: string | null): NewStatusEvent {
  const message = object.object.status?.message ?? null;
  return {
    kind: "status",
    ...toPlace(object),
    payload: { status: object.status, previousStatus, message, at: new Date().toISOString() },
  };
}

function toPlace(object: ProjectedObject) {
  return { clusterId: clusterIdOf(object), nodePoolId: isPool(object) ? object.id : null };
}

function clusterIdOf(object: ProjectedObject): string {
  return isPool(object) ? object.clusterId : object.id;
}

function isPool(object: ProjectedObject): object is ProjectedNodePool {
  return "clusterId" in object;
}

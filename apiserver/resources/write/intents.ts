import { and, asc, eq, inArray, ne, or, type SQL, sql } from "drizzle-orm";
import { ANNOTATION_REQUEST_ID } from "../../../shared/crd/names.ts";
import type { ObjectMeta } from "../../../shared/kube/kind.ts";
import { createId } from "../../../shared/program/id.ts";
import { type AuditEntry, recordAudit } from "../../audit/index.ts";
import type { Database, Queryable } from "../../db/client.ts";
import type { Origin } from "../../http/authentication/principal.ts";
import { type Caller, transactAs } from "../../http/contract/caller.ts";
import type { Reservation } from "./reservations.ts";
import { type WriteIntent, writeIntents } from "./table.ts";

/** One write that is about to be made, and its audit row. */
export interface IntendedWrite {
  kind: WriteIntent["kind"];
  verb: WriteIntent["verb"];
  /** The metadata of the object that was read, or of the one to be created. */
  metadata: ObjectMeta;
  entry: AuditEntry;
}

/**
 * Confirms the caller's right, takes the reservations and commits the intent, in one transaction. Throws what one of them
 * throws; then nothing is taken.
 */
export async function openIntent(
  db: Database,
  caller: Caller,
  reservations: readonly Reservation[],
  intended: IntendedWrite,
): Promise<WriteIntent> {
  return transactAs(db, caller, async (tx) => {
    for (const one of reservations) await one.take(tx);
    return insertIntent(tx, caller.origin, intended);
  });
}

/** Removes the intent of a write that had no effect, and releases its reservations. */
export async function discardIntent(
  db: Database,
  { id }: WriteIntent,
  reservations: readonly Reservation[],
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.delete(writeIntents).where(eq(writeIntents.id, id));
    for (const one of reservations) await one.release(tx);
  });
}

/**
 * Writes the audit rows of an intent that has had its effect, and of those that its write built on. Each row is written
 * once: the transaction that removes an intent writes its row.
 */
export async function recordWrite(tx: Queryable, intent: WriteIntent): Promise<void> {
  if (intent.verb === "create") return recordCreation(tx, intent.entry.target.id);
  const removed = await tx
    .delete(writeIntents)
    .where(or(eq(writeIntents.id, intent.id), isBefore(intent)))
    .returning();
  const isOwn = ({ id }: WriteIntent) => id === intent.id;
  for (const earlier of removed.filter((one) => !isOwn(one))) {
    await recordWrite(tx, earlier);
    await recordAudit(tx, earlier.origin, earlier.entry);
  }
  if (removed.some(isOwn)) await recordAudit(tx, intent.origin, intent.entry);
}

/** Writes the audit row of an object's creation if it is still missing; the row names the first request for it. */
export async function recordCreation(tx: Queryable, id: string): Promise<void> {
  const pending = await tx
    .delete(writeIntents)
    .where(and(eq(writeIntents.verb, "create"), sql`${writeIntents.entry} -> 'target' ->> 'id' = ${id}`))
    .returning();
  const [first] = pending.sort((left, right) => (left.id < right.id ? -1 : 1));
  if (first !== undefined) await recordAudit(tx, first.origin, first.entry);
}

/** The write that made the version which this one builds on. */
function isBefore({ uid, previousRequestId, resourceVersion }: WriteIntent): SQL | undefined {
  if (uid === null || previousRequestId === null || resourceVersion === null) return undefined;
  return and(
    eq(writeIntents.uid, uid),
    eq(writeIntents.requestId, previousRequestId),
    ne(writeIntents.resourceVersion, resourceVersion),
  );
}

/** Intents of writes that no request can be working on any more, the oldest first. */
export async function listStaleIntents(
  db: Queryable,
  olderThanSeconds: number,
  limit: number,
): Promise<WriteIntent[]> {
  return db
    .select()
    .from(writeIntents)
    .where(sql`${writeIntents.startedAt} < now() - make_interval(secs => ${olderThanSeconds})`)
    .orderBy(asc(writeIntents.startedAt))
    .limit(limit);
}

/** Every pending intent of one object. */
export async function listIntentsOf(
  db: Queryable,
  { kind, namespace, name }: Pick<WriteIntent, "kind" | "namespace" | "name">,
): Promise<WriteIntent[]> {
  return db
    .select()
    .from(writeIntents)
    .where(
      and(eq(writeIntents.kind, kind), eq(writeIntents.namespace, namespace), eq(writeIntents.name, name)),
    );
}

/** Whether a request is making a write of this kind of an object, or its audit row is yet to be written. */
export async function isWriteIntended(
  db: Queryable,
  { verb, targetId }: { verb: WriteIntent["verb"]; targetId: string },
): Promise<boolean> {
  const rows = await db
    .select({ id: writeIntents.id })
    .from(writeIntents)
    .where(and(eq(writeIntents.verb, verb), sql`${writeIntents.entry} -> 'target' ->> 'id' = ${targetId}`))
    .limit(1);
  return rows.length > 0;
}

/** Removes those of these intents that are still there, and returns them. */
export async function removeIntents(
  tx: Queryable,
  intents: readonly Pick<WriteIntent, "id">[],
): Promise<WriteIntent[]> {
  const ids = intents.map(({ id }) => id);
  return tx.delete(writeIntents).where(inArray(writeIntents.id, ids)).returning();
}

async function insertIntent(db: Queryable, origin: Origin, intended: IntendedWrite): Promise<WriteIntent> {
  const { kind, verb, metadata, entry } = intended;
  const { namespace = "", name, uid, resourceVersion, annotations } = metadata;
  const [intent] = await db
    .insert(writeIntents)
    .values({
      id: createId(),
      kind,
      verb,
      namespace,
      name,
      uid: uid ?? null,
      resourceVersion: resourceVersion ?? null,
      requestId: origin.requestId,
      previousRequestId: annotations?.[ANNOTATION_REQUEST_ID] ?? null,
      origin,
      entry,
    })
    .returning();
  if (intent === undefined) throw new Error("an insert returned no row");
  return intent;
}

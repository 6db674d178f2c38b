import { and, asc, eq, gt, inArray, isNotNull, isNull, ne, or, type SQL, sql } from "drizzle-orm";
import { ANNOTATION_REQUEST_ID } from "../../../shared/crd/names.ts";
import { NO_AMOUNTS, type QuotaAmounts } from "../../../shared/crd/quota.ts";
import type { KubeObject, ObjectMeta } from "../../../shared/kube/kind.ts";
import { createId } from "../../../shared/program/id.ts";
import { type AuditEntry, recordAudit } from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import type { Author } from "../../http/authentication/principal.ts";
import { ApiError, invalidField } from "../../http/errors.ts";
import { selectNameHolders } from "../project/index.ts";
import { type WriteIntent, writeIntents } from "../table.ts";
import type { Collection } from "./collection.ts";

const IN_FLIGHT_RETRY_SECONDS = 10;
/** See isAbandoned. */
export const IS_NOT_ABANDONED = sql`coalesce(${writeIntents.entry} ->> 'result', '') <> 'failed'`;

/** One write that is about to be made, and its audit row. */
export interface IntendedWrite {
  collection: Pick<Collection<never, never>, "kindName" | "orgId" | "parent">;
  verb: WriteIntent["verb"];
  objectId: string;
  /** The display name that the object takes; undefined when it takes none. */
  displayName?: string | undefined;
  /** What the object uses of the quotas afterwards; default nothing. */
  amounts?: QuotaAmounts | undefined;
  /** The metadata of the object that was read, or of the one to be created. */
  metadata: ObjectMeta;
  /** The object to create. */
  object?: KubeObject;
  /** Null for a part of a create. */
  entry: AuditEntry | null;
}

/**
 * Commits with the transaction what is about to be written, after the caller's right was confirmed in it and everything
 * was checked. Several are the objects of one create, in their order.
 */
export async function insertIntents(
  tx: Queryable,
  author: Author,
  writes: readonly IntendedWrite[],
): Promise<WriteIntent[]> {
  const group = writes.length > 1 ? writes.at(-1)?.objectId : undefined;
  const rows = writes.map((write) => {
    const { collection, verb, objectId, displayName, amounts = NO_AMOUNTS, metadata, object, entry } = write;
    const id = createId();
    return {
      id,
      groupId: group ?? (verb === "create" ? objectId : id),
      kind: collection.kindName,
      verb,
      orgId: collection.orgId,
      objectId,
      parentId: collection.parent.id,
      nameKey: displayName?.toLowerCase() ?? null,
      ...amounts,
      namespace: metadata.namespace ?? "",
      name: metadata.name,
      uid: metadata.uid ?? null,
      resourceVersion: metadata.resourceVersion ?? null,
      requestId: author.requestId,
      previousRequestId: verb === "create" ? null : (metadata.annotations?.[ANNOTATION_REQUEST_ID] ?? null),
      object: object ?? null,
      author,
      entry,
      // Not the transaction's, which may have waited for the organization.
      startedAt: sql`statement_timestamp()`,
    };
  });
  return tx.insert(writeIntents).values(rows).returning();
}

type Named = Pick<Collection<never, never>, "noun" | "parent" | "takenNameCode">;

/**
 * Throws unless a name, letter case aside, is free in the parent for this object: 409 already_exists or 422 (`takenNameCode`) when
 * another one has it, 409 operation_in_progress while another one is being written with it. An earlier intent of this object
 * reserves it no more. Call it, and insert the intent, under the lock of the organization's row.
 */
export async function requireFreeName(
  tx: Queryable,
  { noun, parent, takenNameCode }: Named,
  name: string,
  objectId: string,
): Promise<void> {
  const use = await findNameUse(tx, { parent }, name, objectId);
  if (use === "free") return;
  if (use === "in_flight")
    throw new ApiError("operation_in_progress", `A ${noun} named ${name} is being written right now.`, {
      retryAfterSeconds: IN_FLIGHT_RETRY_SECONDS,
    });
  const message = `is taken: the ${parent.noun} already has a ${noun} of this name; choose another one`;
  if (takenNameCode === "validation_failed") throw invalidField("name", "duplicate", message);
  throw new ApiError(takenNameCode, `The ${parent.noun} already has a ${noun} named ${name}.`, {
    details: [{ field: "name", code: "duplicate", message }],
  });
}

async function findNameUse(
  tx: Queryable,
  { parent }: Pick<Named, "parent">,
  name: string,
  objectId: string,
): Promise<"free" | "taken" | "in_flight"> {
  const key = name.toLowerCase();
  const isNamed = sql`${writeIntents.parentId} = ${parent.id} and ${writeIntents.nameKey} = ${key}`;
  const [row] = await tx.execute<{ taken: boolean; in_flight: boolean }>(sql`
    with released_name as (
      update ${writeIntents} set name_key = null where ${isNamed} and object_id = ${objectId}
    )
    select exists (select from (${selectNameHolders(parent.noun)}) as holders
        where parent_id = ${parent.id} and name_key = ${key} and object_id <> ${objectId}) as taken,
      exists (select from ${writeIntents} where ${isNamed} and object_id <> ${objectId}) as in_flight`);
  if (row?.taken === true) return "taken";
  return row?.in_flight === true ? "in_flight" : "free";
}

/**
 * Removes those of these intents that are still there, and returns them; those of an abandoned create stay. Two calls
 * in one transaction, each of which locks its rows in order, could deadlock with another process: pass all at once.
 */
export async function removeIntents(
  tx: Queryable,
  intents: readonly Pick<WriteIntent, "id" | "groupId">[],
): Promise<WriteIntent[]> {
  const groupIds = intents.map(({ groupId }) => groupId);
  // Lock the rows first, then read whether the create was abandoned: one of them says it.
  const group = await tx
    .select({ id: writeIntents.id, groupId: writeIntents.groupId, entry: writeIntents.entry })
    .from(writeIntents)
    .where(inArray(writeIntents.groupId, groupIds))
    .orderBy(asc(writeIntents.id))
    .for("update");
  const abandoned = new Set(group.filter(isAbandoned).map(({ groupId }) => groupId));
  const ids = intents.filter(({ groupId }) => !abandoned.has(groupId)).map(({ id }) => id);
  if (ids.length === 0) return [];
  return tx
    .delete(writeIntents)
    .where(and(inArray(writeIntents.id, ids), IS_NOT_ABANDONED))
    .returning();
}

/** Whether the create was abandoned; `entry` is that of its last intent. */
export function isAbandoned({ entry }: Pick<WriteIntent, "entry">): boolean {
  return entry?.result === "failed";
}

/** Removes the intents of one create and writes its audit row. False when that has been done, or the create was abandoned. */
export async function completeCreateIntents(tx: Queryable, group: readonly WriteIntent[]): Promise<boolean> {
  const removed = await removeIntents(tx, group);
  for (const { author, entry } of removed) if (entry !== null) await recordAudit(tx, author, entry);
  return removed.length > 0;
}

/**
 * Removes the intent of a change or deletion that has had its effect, and those that its write built on, and writes
 * their audit rows. Each row is written once: the transaction that removes an intent writes its row. An object is deleted
 * once: other intents to delete it end without one.
 */
export async function completeChangeIntent(tx: Queryable, intent: WriteIntent): Promise<void> {
  if (intent.verb === "delete") await lockDeletions(tx, intent);
  const removed = await tx
    .delete(writeIntents)
    .where(or(eq(writeIntents.id, intent.id), isPredecessorOf(intent)))
    .returning();
  const isOwn = ({ id }: WriteIntent) => id === intent.id;
  if (intent.verb === "delete" && removed.some(isOwn))
    await tx.delete(writeIntents).where(isSameDeletion(intent));
  for (const earlier of removed.filter((one) => !isOwn(one))) {
    await completeChangeIntent(tx, earlier);
    if (earlier.entry !== null) await recordAudit(tx, earlier.author, earlier.entry);
  }
  if (removed.some(isOwn) && intent.entry !== null) await recordAudit(tx, intent.author, intent.entry);
}

/** In the order of their ids: two processes may record deletions of one object at once. */
async function lockDeletions(tx: Queryable, intent: WriteIntent): Promise<void> {
  await tx
    .select({ id: writeIntents.id })
    .from(writeIntents)
    .where(isSameDeletion(intent))
    .orderBy(asc(writeIntents.id))
    .for("update");
}

function isSameDeletion({ objectId, uid }: WriteIntent): SQL | undefined {
  const isOfObject = uid === null ? isNull(writeIntents.uid) : eq(writeIntents.uid, uid);
  return and(eq(writeIntents.verb, "delete"), eq(writeIntents.objectId, objectId), isOfObject);
}

/**
 * Matches the write that produced the version this write started from (`previousRequestId`). A write that itself started from
 * that version is a sibling, not a predecessor, even with the same request id.
 */
function isPredecessorOf(intent: WriteIntent): SQL | undefined {
  const { objectId, uid, previousRequestId, resourceVersion } = intent;
  if (uid === null || previousRequestId === null || resourceVersion === null) return undefined;
  return and(
    eq(writeIntents.objectId, objectId),
    eq(writeIntents.uid, uid),
    eq(writeIntents.requestId, previousRequestId),
    ne(writeIntents.resourceVersion, resourceVersion),
  );
}

/** The intents of a create that an earlier attempt has begun, in order; its time starts anew. */
export async function resumeCreate(tx: Queryable, groupId: string): Promise<WriteIntent[]> {
  const rows = await tx
    .update(writeIntents)
    .set({ startedAt: sql`now()` })
    .where(eq(writeIntents.groupId, groupId))
    .returning();
  return inOrder(rows);
}

/** The intents of one create. */
export async function listCreate(db: Queryable, groupId: string): Promise<WriteIntent[]> {
  return inOrder(await db.select().from(writeIntents).where(eq(writeIntents.groupId, groupId)));
}

/** In the order in which their objects are written. */
export function inOrder(rows: readonly WriteIntent[]): WriteIntent[] {
  return rows.toSorted((left, right) => (left.id < right.id ? -1 : 1));
}

/** Intents of writes that no request can be working on any more, after this id, by id; of a create the last object's. */
export async function listStaleIntents(
  db: Queryable,
  olderThanSeconds: number,
  { afterId, limit }: { afterId: string; limit: number },
): Promise<WriteIntent[]> {
  return db
    .select()
    .from(writeIntents)
    .where(and(isStale(olderThanSeconds), isNotNull(writeIntents.entry), gt(writeIntents.id, afterId)))
    .orderBy(asc(writeIntents.id))
    .limit(limit);
}

/** Whether a write began so long ago. */
export function isStale(olderThanSeconds: number): SQL {
  return sql`${writeIntents.startedAt} < now() - make_interval(secs => ${olderThanSeconds})`;
}

/** Every pending change and deletion of one object. */
export async function listIntentsOf(
  db: Queryable,
  { kind, namespace, name }: Pick<WriteIntent, "kind" | "namespace" | "name">,
): Promise<WriteIntent[]> {
  return db
    .select()
    .from(writeIntents)
    .where(
      and(
        eq(writeIntents.kind, kind),
        eq(writeIntents.namespace, namespace),
        eq(writeIntents.name, name),
        ne(writeIntents.verb, "create"),
      ),
    );
}

/** Whether a request is making a write of this kind of an object, or its audit row is yet to be written. */
export async function isWriteIntended(
  db: Queryable,
  { verb, objectId }: Pick<WriteIntent, "verb" | "objectId">,
): Promise<boolean> {
  return hasAny(db, and(eq(writeIntents.verb, verb), eq(writeIntents.objectId, objectId)));
}

/** Whether a write is under way after which an object in this Namespace may be protected from deletion. */
export async function isProtectionIntended(db: Queryable, namespace: string): Promise<boolean> {
  const wanted = sql`coalesce(${writeIntents.object} #>> '{spec,deletionProtection}', ${writeIntents.entry} #>> '{after,deletion_protection}')`;
  const isInNamespace = eq(writeIntents.namespace, namespace);
  return hasAny(db, and(isInNamespace, ne(writeIntents.verb, "delete"), sql`${wanted} = 'true'`));
}

/** Whether a cluster or a node pool of the organization is being created right now, or was left unfinished. */
export async function hasPendingCreates(db: Queryable, orgId: string): Promise<boolean> {
  const isOfKind = inArray(writeIntents.kind, ["Cluster", "NodePool"]);
  return hasAny(db, and(eq(writeIntents.orgId, orgId), eq(writeIntents.verb, "create"), isOfKind));
}

async function hasAny(db: Queryable, which: SQL | undefined): Promise<boolean> {
  const rows = await db.select({ id: writeIntents.id }).from(writeIntents).where(which).limit(1);
  return rows.length > 0;
}

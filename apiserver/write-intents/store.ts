import { and, eq, ne, or, sql } from "drizzle-orm";
import { ANNOTATION_REQUEST_ID } from "../../shared/crd/names.ts";
import { createId } from "../../shared/id.ts";
import type { ObjectMeta } from "../../shared/kube/kind.ts";
import { type AuditEntry, recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { ApiError } from "../http/errors.ts";
import { isCertainlyNotWritten } from "./certainty.ts";
import { type WriteIntent, writeIntents } from "./table.ts";

export { isCertainlyNotWritten } from "./certainty.ts";

/** One write of a custom resource: which, and the audit row that tells of it. */
export interface IntendedWrite {
  kind: WriteIntent["kind"];
  verb: WriteIntent["verb"];
  /** Of the object as it was read; of one that is to be created, its place. */
  metadata: Pick<ObjectMeta, "namespace" | "name" | "uid" | "resourceVersion" | "annotations">;
  entry: AuditEntry;
}

/** What a write takes for itself before it is made, in the transaction that commits its intent. */
export interface Claims {
  /** Throws the refusal when something cannot be had; then nothing is taken. */
  take: (tx: Queryable) => Promise<void>;
  /** Lets go of what is of no more use once the object is there. */
  settle: (tx: Queryable) => Promise<void>;
  /** Lets go of everything: the write had no effect. */
  release: (tx: Queryable) => Promise<void>;
}

/** What was written, and how to tell of it. */
export interface Written<T> {
  object: T;
  /** Writes the audit row, exactly once, and settles the claims; in the transaction that completes the request. */
  tell: (tx: Queryable) => Promise<void>;
}

/**
 * Writes a custom resource so that its audit row is never lost: what is about to happen is committed first, and a crash
 * at any later point leaves it for the sweep. A write that surely had no effect leaves nothing. Undefined when
 * `write` was overtaken (undefined); throws what it throws, and what `claims.take` throws before it.
 */
export function writeWithIntent<T extends object>(
  deps: Pick<Deps, "db">,
  origin: Origin,
  intended: IntendedWrite,
  write: () => Promise<T>,
  claims?: Claims,
): Promise<Written<T>>;
export function writeWithIntent<T extends object>(
  deps: Pick<Deps, "db">,
  origin: Origin,
  intended: IntendedWrite,
  write: () => Promise<T | undefined>,
  claims?: Claims,
): Promise<Written<T> | undefined>;
export async function writeWithIntent<T extends object>(
  deps: Pick<Deps, "db">,
  origin: Origin,
  intended: IntendedWrite,
  write: () => Promise<T | undefined>,
  claims?: Claims,
): Promise<Written<T> | undefined> {
  const intent = await begin(deps.db, origin, intended, claims);
  const drop = () => undo(deps.db, intent, claims);
  let object: T | undefined;
  try {
    object = await write();
  } catch (error) {
    if (isCertainlyNotWritten(error) || error instanceof ApiError) await drop();
    throw error;
  }
  if (object === undefined) {
    await drop();
    return undefined;
  }
  return {
    object,
    async tell(tx) {
      await tellOf(tx, intent);
      await claims?.settle(tx);
    },
  };
}

async function begin(
  db: Deps["db"],
  origin: Origin,
  intended: IntendedWrite,
  claims: Claims | undefined,
): Promise<WriteIntent> {
  if (claims === undefined) return open(db, origin, intended);
  return db.transaction(async (tx) => {
    await claims.take(tx);
    return open(tx, origin, intended);
  });
}

async function undo(db: Deps["db"], { id }: WriteIntent, claims: Claims | undefined): Promise<void> {
  const remove = async (tx: Queryable) => tx.delete(writeIntents).where(eq(writeIntents.id, id));
  if (claims === undefined) await remove(db);
  else
    await db.transaction(async (tx) => {
      await remove(tx);
      await claims.release(tx);
    });
}

/**
 * Writes the audit rows of an intent that has had its effect, and of the ones that its write built on, unless somebody
 * has told of them: whoever removes an intent writes its row, in one transaction.
 */
export async function tellOf(tx: Queryable, intent: WriteIntent): Promise<void> {
  if (intent.verb === "create") return tellOfCreation(tx, intent.entry.target.id);
  const told = await tx
    .delete(writeIntents)
    .where(or(eq(writeIntents.id, intent.id), isBefore(intent)))
    .returning();
  const isOwn = (one: WriteIntent) => one.id === intent.id;
  for (const before of told.filter((one) => !isOwn(one))) {
    await tellOf(tx, before);
    await recordAudit(tx, before.origin, before.entry);
  }
  if (told.some(isOwn)) await recordAudit(tx, intent.origin, intent.entry);
}

/** The same for an object that is there although its creation may not have been told of: by the first who asked for it. */
export async function tellOfCreation(tx: Queryable, id: string): Promise<void> {
  const pending = await tx
    .delete(writeIntents)
    .where(and(eq(writeIntents.verb, "create"), sql`${writeIntents.entry} -> 'target' ->> 'id' = ${id}`))
    .returning();
  const [first] = pending.sort((left, right) => (left.id < right.id ? -1 : 1));
  if (first !== undefined) await recordAudit(tx, first.origin, first.entry);
}

/** The write that made the version which this one builds on. */
function isBefore({ uid, previousRequestId, resourceVersion }: WriteIntent) {
  if (uid === null || previousRequestId === null || resourceVersion === null) return undefined;
  return and(
    eq(writeIntents.uid, uid),
    eq(writeIntents.requestId, previousRequestId),
    ne(writeIntents.resourceVersion, resourceVersion),
  );
}

async function open(db: Queryable, origin: Origin, intended: IntendedWrite): Promise<WriteIntent> {
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

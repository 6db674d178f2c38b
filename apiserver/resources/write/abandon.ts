import { and, eq, inArray, type SQL, sql } from "drizzle-orm";
import { idOf } from "../../../shared/crd/identity.ts";
import { NO_AMOUNTS } from "../../../shared/crd/quota.ts";
import type { KubeClient } from "../../../shared/kube/client.ts";
import { messageOf } from "../../../shared/program/errors.ts";
import { recordAudit } from "../../audit/index.ts";
import type { Database, Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { ApiError } from "../../http/errors.ts";
import { type WriteIntent, writeIntents } from "../table.ts";
import { kindOf } from "./collection.ts";
import { IS_NOT_ABANDONED, inOrder, isStale, listCreate } from "./intents.ts";

type AbandonDeps = Pick<Deps, "db" | "kube" | "log">;

/** 409 conflict for an attempt whose create a repetition has resumed, completed or begun anew, or the job has abandoned. */
export function takenOver(): ApiError {
  return new ApiError("conflict", "A repetition has taken over, or this attempt took too long; try again.", {
    retryAfterSeconds: 5,
  });
}

/** 409 conflict while what an earlier attempt has made is being deleted. */
export function stillDeleting(): ApiError {
  return new ApiError("conflict", "Objects of an earlier attempt are being deleted; try again.", {
    retryAfterSeconds: 5,
  });
}

/**
 * Undoes a create that no request has worked on for so long: deletes those of its objects that exist, and leaves an audit
 * row. A repeated request is refused until that is done, and then begins anew. False when it was resumed or completed before;
 * throws when an object could not be deleted: the next call goes on.
 */
export async function abandonStaleCreate(
  { db, kube }: Pick<Deps, "db" | "kube">,
  groupId: string,
  olderThanSeconds: number,
): Promise<boolean> {
  const intents = await markAbandoned(db, and(eq(writeIntents.groupId, groupId), isStale(olderThanSeconds)));
  if (intents.length === 0) return false;
  for (const intent of intents) {
    // Another leader may have ended it a moment ago: what is there now is of a repetition.
    if (!(await listCreate(db, groupId)).some(({ id }) => id === intent.id)) return false;
    await deleteObjects(kube, [intent]);
  }
  await db.transaction(async (tx) => {
    for (const { author, entry } of await deleteIntents(tx, intents))
      if (entry !== null) await recordAudit(tx, author, entry);
  });
  return true;
}

/**
 * Undoes a create of which these objects may have been written, and leaves nothing, unless a repetition has resumed it
 * since its intents were read, or the job `write-intents` has abandoned it. What fails here is left to that job.
 */
export async function abandonCreate(
  deps: AbandonDeps,
  intents: readonly WriteIntent[],
  written: readonly WriteIntent[],
): Promise<void> {
  try {
    // What the job has abandoned, it deletes.
    if ((await markAbandoned(deps.db, isOpen(intents))).length < intents.length) return;
  } catch (error) {
    warn(deps, intents, error);
    return;
  }
  await deleteCreatedObjects(deps, intents, written);
}

/**
 * Begins the time of a create anew, for its request goes on; returns its intents. Throws 409 conflict, and changes nothing, when
 * it was abandoned or completed, or another request has resumed it, since they were read.
 */
export function keepOpen(db: Database, intents: readonly WriteIntent[]): Promise<WriteIntent[]> {
  return db.transaction(async (tx) => {
    const startedAt = sql`now()`;
    const rows = await tx.update(writeIntents).set({ startedAt }).where(isOpen(intents)).returning();
    if (rows.length < intents.length) throw takenOver();
    return inOrder(rows);
  });
}

/** Matches the intents of a create that was not abandoned, nor resumed since they were read. */
function isOpen(intents: readonly WriteIntent[]): SQL | undefined {
  const startedAt = intents[0]?.startedAt.toISOString() ?? null;
  const isUnresumed = sql`date_trunc('milliseconds', ${writeIntents.startedAt}) = ${startedAt}::timestamptz`;
  return and(inArray(writeIntents.id, idsOf(intents)), isUnresumed, IS_NOT_ABANDONED);
}

/** Deletes what an abandoned create has made, and its intents. What fails here is left to the job `write-intents`. */
export async function deleteCreatedObjects(
  deps: AbandonDeps,
  intents: readonly WriteIntent[],
  written: readonly WriteIntent[] = intents,
): Promise<void> {
  try {
    await deleteObjects(deps.kube, written);
    await deleteIntents(deps.db, intents);
  } catch (error) {
    warn(deps, intents, error);
  }
}

function warn({ log }: Pick<Deps, "log">, intents: readonly WriteIntent[], error: unknown): void {
  const failed = { id: intents.at(-1)?.objectId, message: messageOf(error) };
  log.warn(failed, "cannot undo a failed create: the job write-intents completes or undoes it");
}

/**
 * Stores again the intents of a create that was abandoned, and whose intents were removed, while its objects were still
 * being written. Until these are deleted, by `deleteCreatedObjects` or the job, a repetition is refused. They reserve nothing.
 * Throws 409 conflict when a repetition has begun anew.
 */
export async function insertAbandoned(tx: Queryable, intents: readonly WriteIntent[]): Promise<void> {
  const rows = intents.map((intent) => ({
    ...intent,
    ...NO_AMOUNTS,
    nameKey: null,
    startedAt: sql`now()`,
    entry: intent.entry && { ...intent.entry, result: "failed" as const },
  }));
  const inserted = await tx.insert(writeIntents).values(rows).onConflictDoNothing().returning();
  if (inserted.length < intents.length) throw takenOver();
}

/**
 * Marks a create as abandoned: no request resumes it any more, nor hands out what it made. Returns its intents, also
 * when it was before; none when it was completed, or resumed since.
 */
async function markAbandoned(db: Queryable, which: SQL | undefined): Promise<WriteIntent[]> {
  const rows = await db
    .update(writeIntents)
    .set({ entry: sql`jsonb_set(${writeIntents.entry}, '{result}', '"failed"')` })
    .where(which)
    .returning();
  return inOrder(rows);
}

/** Removes these intents of an abandoned create, not those of its repetition. */
async function deleteIntents(tx: Queryable, intents: readonly WriteIntent[]): Promise<WriteIntent[]> {
  return tx
    .delete(writeIntents)
    .where(inArray(writeIntents.id, idsOf(intents)))
    .returning();
}

async function deleteObjects(kube: KubeClient, intents: readonly WriteIntent[]): Promise<void> {
  for (const { kind, namespace, name, objectId } of intents) {
    const found = await kube.get(kindOf({ kind }), namespace, name);
    if (found?.metadata.uid === undefined || idOf(found) !== objectId) continue;
    await kube.delete(kindOf({ kind }), namespace, name, { uid: found.metadata.uid });
  }
}

function idsOf(intents: readonly Pick<WriteIntent, "id">[]): string[] {
  return intents.map(({ id }) => id);
}

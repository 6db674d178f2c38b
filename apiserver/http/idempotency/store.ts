import { and, eq, isNull, lt, sql } from "drizzle-orm";
import type { Database, Queryable } from "../../db/client.ts";
import type { ClaimResult, IdempotencyClaim, IdempotencyStore } from "../env.ts";
import { ApiError } from "../errors.ts";
import { idempotencyKeys } from "./table.ts";

/** Longer than the deadline of a request, so that a lease that ended belongs to an attempt that ended. */
const LEASE = sql`now() + interval '60 seconds'`;
const KEPT_SINCE = sql`now() - interval '24 hours'`;

/** Keeps the outcome of keyed requests in Postgres. */
export function createIdempotencyStore(db: Database): IdempotencyStore {
  return {
    async claim(claim) {
      const fresh = await takeKey(db, claim);
      if (fresh !== undefined) return fresh;
      await db
        .delete(idempotencyKeys)
        .where(and(isSameKey(claim), lt(idempotencyKeys.createdAt, KEPT_SINCE)));
      const outcome = (await readOutcome(db, claim)) ?? (await takeKey(db, claim));
      if (outcome === undefined) throw inFlight(1);
      return outcome;
    },
    async complete(claim, answer, tx = db) {
      await tx
        .update(idempotencyKeys)
        .set({ status: answer.status, headers: answer.headers, body: answer.body })
        .where(isSameKey(claim));
    },
    async release(claim) {
      await db.update(idempotencyKeys).set({ leaseExpiresAt: sql`now()` }).where(isSameKey(claim));
    },
  };
}

/** Forgets keys of more than 24 hours ago; returns how many. */
export async function purgeIdempotencyKeys(db: Database): Promise<number> {
  const gone = await db
    .delete(idempotencyKeys)
    .where(lt(idempotencyKeys.createdAt, KEPT_SINCE))
    .returning({ key: idempotencyKeys.key });
  return gone.length;
}

/** Takes a key that is new, or one whose attempt ended without an outcome; one statement, so only one wins. */
async function takeKey(db: Database, claim: IdempotencyClaim): Promise<ClaimResult | undefined> {
  const [row] = await db
    .insert(idempotencyKeys)
    .values({ ...claim, leaseExpiresAt: LEASE })
    .onConflictDoUpdate({
      target: [idempotencyKeys.scope, idempotencyKeys.key],
      set: { leaseExpiresAt: LEASE },
      setWhere: sql`${idempotencyKeys.status} is null
        and ${idempotencyKeys.leaseExpiresAt} <= now()
        and ${idempotencyKeys.bodyHash} = ${claim.bodyHash}`,
    })
    .returning({
      id: idempotencyKeys.id,
      objectName: idempotencyKeys.objectName,
      resumed: sql<boolean>`xmax <> 0`,
    });
  return row === undefined ? undefined : { outcome: "run", ...row };
}

async function readOutcome(db: Database, claim: IdempotencyClaim): Promise<ClaimResult | undefined> {
  const [row] = await db
    .select({
      bodyHash: idempotencyKeys.bodyHash,
      status: idempotencyKeys.status,
      headers: idempotencyKeys.headers,
      body: idempotencyKeys.body,
      leaseSeconds: sql<number>`ceil(extract(epoch from ${idempotencyKeys.leaseExpiresAt} - now()))::int`,
    })
    .from(idempotencyKeys)
    .where(isSameKey(claim));
  if (row === undefined) return undefined;
  if (row.bodyHash !== claim.bodyHash) {
    throw new ApiError("idempotency_key_reused", "This Idempotency-Key was used with another body.");
  }
  if (row.status === null) throw inFlight(Math.max(1, row.leaseSeconds));
  return {
    outcome: "replay",
    answer: { status: row.status, headers: row.headers ?? {}, body: row.body ?? "" },
  };
}

/** Whether a request that fixed this id came to no outcome yet, so that its client may repeat it by its key. */
export async function isRepeatable(db: Queryable, id: string): Promise<boolean> {
  const rows = await db
    .select({ id: idempotencyKeys.id })
    .from(idempotencyKeys)
    .where(and(eq(idempotencyKeys.id, id), isNull(idempotencyKeys.status)))
    .limit(1);
  return rows.length > 0;
}

function inFlight(retryAfterSeconds: number): ApiError {
  return new ApiError(
    "operation_in_progress",
    "The first request with this Idempotency-Key is still running.",
    {
      retryAfterSeconds,
    },
  );
}

function isSameKey(claim: IdempotencyClaim) {
  return and(eq(idempotencyKeys.scope, claim.scope), eq(idempotencyKeys.key, claim.key));
}

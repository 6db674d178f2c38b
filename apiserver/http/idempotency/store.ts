import { and, eq, isNull, lt, sql } from "drizzle-orm";
import { createId } from "../../../shared/program/id.ts";
import type { Database, Queryable } from "../../db/client.ts";
import { repeatBatches } from "../../work/loop.ts";
import { ApiError } from "../errors.ts";
import { idempotencyKeys } from "./table.ts";

/** The identity of one keyed request: caller, operation, key, and a hash of the body. */
export interface IdempotencyClaim {
  /** Within which a key is unique: principal, method and full path. */
  scope: string;
  key: string;
  /** The person whose keys are counted, also for an API token. */
  userId?: string;
  bodyHash: string;
  /** Fixed by the first attempt and reused by every later one. */
  id: string;
  objectName: string | null;
}

export interface StoredResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export type ClaimResult =
  | { outcome: "run"; id: string; objectName: string | null; resumed: boolean }
  | { outcome: "replay"; response: StoredResponse };

/** Keeps the responses to keyed requests for 24 h. What ends a claim takes it with the id that `claim` returned. */
export interface IdempotencyStore {
  /**
   * Throws 422 idempotency_key_reused for another body, 429 for one key too many of a user, and 409
   * operation_in_progress while the lease of another runs.
   */
  claim(claim: IdempotencyClaim): Promise<ClaimResult>;
  /** The response that is stored for this request; undefined = none. */
  find(claim: IdempotencyClaim): Promise<StoredResponse | undefined>;
  /**
   * Stores the first response of a claim; in the transaction of the effect when one is given: throws 409 operation_in_progress there,
   * so that it has no effect, when this attempt has outlived its lease and a repetition has stored its own, or the claim is gone.
   */
  complete(claim: IdempotencyClaim, response: StoredResponse, tx?: Queryable): Promise<void>;
  /** Ends the lease without a response, so that a retry may run at once and reuses id and object name. */
  release(claim: IdempotencyClaim): Promise<void>;
  /** Forgets a request that was refused for its body, so that the key may be used for another one. */
  forget(claim: IdempotencyClaim): Promise<void>;
}

/** Longer than the deadline of a request: only a write to a Kubernetes API that hardly answers can go on for longer. */
const LEASE = sql`now() + interval '60 seconds'`;
const PURGE_BATCH = 1000;
/** Keys are deleted by the hour. */
const RETRY_AFTER_SECONDS = 3600;
const RECOUNT_MS = 60_000;
const MAX_COUNTED_USERS = 10_000;
const KEPT_SINCE = sql`now() - interval '24 hours'`;

/** The store over a database, of one user at most `maxKeysPerUser` keys; `ending` ends claims, also for a request that has ended. */
export function createIdempotencyStores(
  maxKeysPerUser = Number.POSITIVE_INFINITY,
): (db: Database, ending?: Database) => IdempotencyStore {
  const hasCapacity = createKeyCount(maxKeysPerUser);
  const requireCapacity = async (db: Database, claim: IdempotencyClaim) => {
    if (await hasCapacity(db, claim)) return;
    throw new ApiError(
      "rate_limited",
      `A user can have ${maxKeysPerUser} Idempotency-Keys, each for 24 hours; send the request without one, or later.`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  };
  return (db, ending = db) => createStore(db, ending, (claim) => requireCapacity(db, claim));
}

function createStore(
  db: Database,
  ending: Database,
  requireCapacity: (claim: IdempotencyClaim) => Promise<void>,
): IdempotencyStore {
  const forget = async (claim: IdempotencyClaim) => {
    await ending.delete(idempotencyKeys).where(isOpen(claim));
  };
  return {
    forget,
    find: (claim) => findResponse(db, claim),
    async claim(claim) {
      const fresh = await takeKey(db, claim);
      if (fresh?.outcome === "run" && !fresh.resumed) {
        try {
          await requireCapacity(claim);
        } catch (error) {
          // Nothing runs for it: a repeated request must not wait for the end of its lease.
          await forget(claim);
          throw error;
        }
      }
      if (fresh !== undefined) return fresh;
      await db
        .delete(idempotencyKeys)
        .where(and(isSameKey(claim), lt(idempotencyKeys.createdAt, KEPT_SINCE)));
      const result = (await readOutcome(db, claim)) ?? (await takeKey(db, claim));
      if (result === undefined) throw inProgress();
      return result;
    },
    async complete(claim, response, tx = ending) {
      const stored = await tx
        .update(idempotencyKeys)
        .set({ status: response.status, headers: response.headers, body: response.body })
        .where(isOpen(claim))
        .returning({ key: idempotencyKeys.key });
      if (stored.length === 0 && tx !== ending) throw inProgress();
    },
    async release(claim) {
      await ending.update(idempotencyKeys).set({ leaseExpiresAt: sql`now()` }).where(isOpen(claim));
    },
  };
}

/**
 * Whether a user's new key is within the limit. Counts in Postgres once a minute, and what is added here in between.
 */
function createKeyCount(limit: number): (db: Database, claim: IdempotencyClaim) => Promise<boolean> {
  const counted = new Map<string, { keys: number; untilMs: number }>();
  return async (db, { userId }) => {
    if (userId === undefined) return true;
    const known = counted.get(userId);
    if (known !== undefined && known.untilMs > performance.now()) {
      known.keys += 1;
      return known.keys <= limit;
    }
    const keys = await db.$count(idempotencyKeys, eq(idempotencyKeys.userId, userId));
    if (counted.size >= MAX_COUNTED_USERS) counted.clear();
    counted.set(userId, { keys, untilMs: performance.now() + RECOUNT_MS });
    return keys <= limit;
  };
}

export type IdempotencyKey = Pick<IdempotencyClaim, "scope" | "key">;

/**
 * Adds the keys of what may be requested again by a program, in the transaction of its effect, and returns those that were not
 * there within 24 hours. The scope is no one's that `claim` takes.
 */
export async function insertKeys(tx: Queryable, keys: readonly IdempotencyKey[]): Promise<IdempotencyKey[]> {
  if (keys.length === 0) return [];
  const rows = keys.map((key) => ({ ...key, bodyHash: "", id: createId(), leaseExpiresAt: sql`now()` }));
  const { scope, key } = idempotencyKeys;
  return tx.insert(idempotencyKeys).values(rows).onConflictDoNothing().returning({ scope, key });
}

/** Deletes keys that are older than 24 hours, a batch at a time so that no lock is held for long; returns how many. */
export function purgeIdempotencyKeys(db: Database, batchSize = PURGE_BATCH): Promise<number> {
  const batch = db
    .select({ row: sql`ctid` })
    .from(idempotencyKeys)
    .where(lt(idempotencyKeys.createdAt, KEPT_SINCE))
    .limit(batchSize)
    .for("update", { skipLocked: true });
  return repeatBatches(batchSize, undefined, async () => {
    const deleted = db.delete(idempotencyKeys).where(sql`ctid = any(array(${batch}))`);
    return (await deleted.returning({ key: idempotencyKeys.key })).length;
  });
}

/** Claims a key that is new, or whose last attempt ended without a response; one statement, so only one caller wins. */
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

async function findResponse(db: Database, claim: IdempotencyClaim): Promise<StoredResponse | undefined> {
  const [row] = await db
    .select({ status: idempotencyKeys.status, headers: idempotencyKeys.headers, body: idempotencyKeys.body })
    .from(idempotencyKeys)
    .where(
      and(
        isSameKey(claim),
        eq(idempotencyKeys.bodyHash, claim.bodyHash),
        sql`${idempotencyKeys.createdAt} >= ${KEPT_SINCE}`,
      ),
    );
  return row?.status == null
    ? undefined
    : { status: row.status, headers: row.headers ?? {}, body: row.body ?? "" };
}

async function readOutcome(db: Database, claim: IdempotencyClaim): Promise<ClaimResult | undefined> {
  const [row] = await db
    .select({
      bodyHash: idempotencyKeys.bodyHash,
      status: idempotencyKeys.status,
      headers: idempotencyKeys.headers,
      body: idempotencyKeys.body,
    })
    .from(idempotencyKeys)
    .where(isSameKey(claim));
  if (row === undefined) return undefined;
  if (row.bodyHash !== claim.bodyHash) {
    throw new ApiError("idempotency_key_reused", "This Idempotency-Key was used with another body.");
  }
  if (row.status === null) throw inProgress();
  return {
    outcome: "replay",
    response: { status: row.status, headers: row.headers ?? {}, body: row.body ?? "" },
  };
}

/** Whether the request that was given this id has no response yet, so that its client may repeat it by its key. */
export async function isRepeatable(db: Queryable, id: string): Promise<boolean> {
  const rows = await db
    .select({ id: idempotencyKeys.id })
    .from(idempotencyKeys)
    .where(and(eq(idempotencyKeys.id, id), isNull(idempotencyKeys.status)))
    .limit(1);
  return rows.length > 0;
}

/** Most requests end within a second; the lease is only for those whose process has ended. */
function inProgress(): ApiError {
  return new ApiError(
    "operation_in_progress",
    "The first request with this Idempotency-Key is still running.",
    {
      retryAfterSeconds: 1,
    },
  );
}

function isSameKey(claim: IdempotencyClaim) {
  return and(eq(idempotencyKeys.scope, claim.scope), eq(idempotencyKeys.key, claim.key));
}

/**
 * Whether a row is of this claim and has no response: one that is stored is kept, and so is what another request
 * claimed since.
 */
function isOpen(claim: IdempotencyClaim) {
  return and(isSameKey(claim), eq(idempotencyKeys.id, claim.id), isNull(idempotencyKeys.status));
}

import type { Database, Queryable } from "../../db/client.ts";
import { sendTogether } from "../../db/send-together.ts";
import type { Origin } from "../authentication/principal.ts";
import { type Preconditions, requireMatch } from "./etag.ts";
import { requireUnchanged } from "./fields.ts";
import type { TenantWork } from "./tenant-work.ts";

/** Who changes something, and whether that is still allowed; `C` is what the caller may do. */
export interface Caller<C = unknown> {
  origin: Origin;
  /**
   * Confirms the right to this request: as the first statement of the transaction of its change, whose lock on the
   * organization's row it holds until the end, or without a transaction right before an effect outside of Postgres. Throws
   * what `confirmAccess` throws.
   */
  confirm: (tx: Queryable) => Promise<C>;
  /** Undefined for what was authorized before: it waits for no request. */
  work: TenantWork | undefined;
}

/** Runs a change in a transaction whose first statement confirms the caller's right. Throws what both throw. */
export function transactAs<T, C>(
  db: Database,
  caller: Caller<C>,
  effect: (tx: Queryable, confirmed: C) => Promise<T>,
): Promise<T> {
  return db.transaction(async (tx) => effect(tx, await caller.confirm(tx)));
}

/**
 * The author of a change that was decided before: the consequence of a request that was authorized. Nothing is confirmed
 * and no row is locked, so it must take no quota.
 */
export function asAuthorized(origin: Origin): Caller {
  return { origin, confirm: async () => undefined, work: undefined };
}

/** One change of a record in Postgres; `C` is what the caller may do. */
export interface RecordChange<R, T, C> {
  /**
   * The record, under a lock that is held until the transaction ends: its own, or that of the organization's row, which the
   * confirmation of the caller's right holds. Its statements go out behind those of the confirmation. Throws 404.
   */
  lock: (tx: Queryable, confirmed: Promise<C>) => Promise<R>;
  /** Its entity tag; undefined while there is no record. */
  tag: (record: R) => string | undefined;
  /** The fields of a body that cannot be changed, with the record's values. */
  fixed?: (record: R) => Readonly<Record<string, unknown>>;
  /** Makes the change, with its audit row. */
  apply: (tx: Queryable, record: R, confirmed: C) => Promise<T>;
}

/** What a request says about the change of a record. */
interface ChangeRequest {
  preconditions: Preconditions;
  /** The validated body; undefined without one. */
  body: unknown;
}

/**
 * Changes a record in one transaction: confirms the caller's right, locks the record, compares the conditions of the
 * request (412) and the fields that cannot be changed (422), and applies the change. Throws what these steps throw.
 */
export function changeRecord<R, T, C>(
  db: Database,
  caller: Caller<C>,
  { preconditions, body }: ChangeRequest,
  { lock, tag, fixed, apply }: RecordChange<R, T, C>,
): Promise<T> {
  return db.transaction(async (tx) => {
    const confirmation = caller.confirm(tx);
    const [confirmed, record] = await sendTogether(confirmation, lock(tx, confirmation));
    requireMatch(preconditions, tag(record));
    if (fixed !== undefined) requireUnchanged(fixed(record), (body ?? {}) as Record<string, unknown>);
    return apply(tx, record, confirmed);
  });
}

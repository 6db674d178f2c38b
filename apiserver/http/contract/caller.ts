import type { Database, Queryable } from "../../db/client.ts";
import type { Origin } from "../authentication/principal.ts";
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

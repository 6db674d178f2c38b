import type { Database, Queryable } from "../../db/client.ts";
import type { Origin } from "../authentication/principal.ts";
import { NO_TENANT_WORK, type TenantWork } from "./tenant-work.ts";

/** Who changes something, and whether that is still allowed; `C` is what the caller may do. */
export interface Caller<C = unknown> {
  origin: Origin;
  /**
   * Confirms the right to this request, as the first statement of the transaction of its change, and holds the
   * organization's row lock until that transaction ends. Throws what `confirmAccess` throws.
   */
  confirm: (tx: Queryable) => Promise<C>;
  work: TenantWork;
}

/** Runs a change in a transaction whose first statement confirms the caller's right. Throws what both throw. */
export function transactAs<T, C>(
  db: Database,
  caller: Caller<C>,
  effect: (tx: Queryable, confirmed: C) => Promise<T>,
): Promise<T> {
  return db.transaction(async (tx) => effect(tx, await caller.confirm(tx)));
}

/** The author of a change that was decided before: the consequence of a request that was authorized. */
export function asAuthorized(origin: Origin): Caller {
  return { origin, confirm: async () => undefined, work: NO_TENANT_WORK };
}

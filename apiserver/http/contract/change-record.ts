import type { Database, Queryable } from "../../db/client.ts";
import { type Caller, transactAs } from "./caller.ts";
import { type Preconditions, requireMatch } from "./etag.ts";
import { requireUnchanged } from "./fields.ts";

/** One change of a record in Postgres; `C` is what the caller may do. */
export interface RecordChange<R, T, C> {
  /**
   * The record, under a lock that is held until the transaction ends: its own, or that of the organization's row, which the
   * confirmation of the caller's right holds. Throws 404.
   */
  lock: (tx: Queryable, confirmed: C) => Promise<R>;
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
  return transactAs(db, caller, async (tx, confirmed) => {
    const record = await lock(tx, confirmed);
    requireMatch(preconditions, tag(record));
    if (fixed !== undefined) requireUnchanged(fixed(record), (body ?? {}) as Record<string, unknown>);
    return apply(tx, record, confirmed);
  });
}

import type { Queryable } from "../../db/client.ts";
import type { Origin } from "../authentication/principal.ts";
import type { ConfirmedAccess } from "../authorization/confirm-access.ts";
import type { Access } from "../authorization/guard.ts";
import type { Membership } from "../authorization/membership.ts";
import type { Permission } from "../authorization/permissions.ts";
import type { Attempt, Once, OnceOptions } from "../idempotency/run-once.ts";

export interface TransactOptions<T> extends Pick<OnceOptions, "secret"> {
  /** Runs after the commit, before the response is sent; not for a repetition. Must not throw. */
  afterCommit?: (result: T) => Promise<void>;
}

/** What a handler gets besides the Hono context. */
export interface SignedInCall<P, Q, B> {
  requestId: string;
  /** Path parameters; UUIDs in lower case. */
  params: P;
  query: Q;
  /** Reads and validates the body; call it after the parents in the path were found. Throws 415, 413, 400 or 422. */
  readBody: () => Promise<B>;
  origin: Origin;
  /**
   * Runs a POST whose effect lies in Postgres, at most once per Idempotency-Key: `effect`, its audit row and the
   * response that a repeated request gets are one transaction. Call it after readBody. Throws 422 idempotency_key_reused, 409
   * operation_in_progress, and what `effect` throws.
   */
  transact: <T, R extends Response>(
    effect: (tx: Queryable, attempt: Pick<Attempt, "id">) => Promise<T>,
    respond: (result: T) => R,
    options?: TransactOptions<T>,
  ) => Promise<Once<R>>;
  /** The same for a POST whose effect lies outside Postgres: `run` looks for the result of an earlier attempt. */
  runOnce: <R extends Response>(
    options: OnceOptions,
    run: (attempt: Attempt) => Promise<R>,
  ) => Promise<Once<R>>;
}

/** The same for a member of the organization in the path. */
export interface OrganizationCall<P, Q, B> extends SignedInCall<P, Q, B> {
  orgId: string;
  membership: Membership;
  /** Throws 403 naming the permission; for permissions that depend on the fields of the body. */
  requirePermission: (permission: Permission) => void;
  /**
   * Reads the caller's rights again under the organization's row lock, as the first statement of the transaction of the
   * change; for an operation with `recheckAccess`. Throws 403 for a right that has ended.
   */
  confirmAccess: (tx: Queryable) => Promise<ConfirmedAccess>;
}

export type CallFor<A extends Access, P, Q, B> = A extends "signed-in" | "user" | "platform-admin"
  ? SignedInCall<P, Q, B>
  : OrganizationCall<P, Q, B>;

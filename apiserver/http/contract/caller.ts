import type { Context } from "hono";
import type { TenantContext } from "../../../shared/program/limits.ts";
import type { Database, Queryable, Transaction } from "../../db/client.ts";
import { forTenant } from "../../db/pool.ts";
import { sendTogether } from "../../db/statement.ts";
import { type Author, type Principal, principalKey } from "../authentication/principal.ts";
import {
  type Access,
  type ConfirmedAccess,
  confirmAccess,
  confirmCredential,
  requireAnyPermission,
} from "../authorization/guard.ts";
import type { Membership, Permission } from "../authorization/permissions.ts";
import type { HttpEnv } from "../env.ts";
import { clientDisconnected } from "../errors.ts";
import {
  type Attempt,
  type Once,
  type OnceOptions,
  runOnce,
  type StoreOnce,
} from "../idempotency/run-once.ts";
import { readJsonBody } from "./body.ts";
import { type Preconditions, readPreconditions, requireMatch } from "./etag.ts";
import { requireUnchanged } from "./fields.ts";
import type { Operation } from "./operation.ts";
import type { Router } from "./router.ts";
import { bindToTenant, type RunningRequest, type TenantRequest } from "./tenant-slot.ts";

/** Who changes something, and whether that is still allowed; `C` is what the caller may do. */
export interface Caller<C = unknown> {
  author: Author;
  /**
   * Confirms the right to this request, as the first statement of its change's transaction, which then holds the lock of the
   * organization's row. Throws what `confirmAccess` throws. Of the platform's staff, whose role was checked when the request came,
   * it confirms that the token has not ended, and the organization in the path is neither deleted nor being deleted; for what
   * outlives the organization, or is outside one, the token alone.
   */
  confirm: (tx: Transaction) => Promise<C>;
  /** The request that makes the change; undefined where none does (`asAuthorized`). */
  request: TenantRequest | undefined;
}

/**
 * Runs a change in a transaction whose first statement confirms the caller's right. Throws what both throw, and does not begin
 * once the request has ended.
 */
export function transactAs<T, C>(
  db: Database,
  caller: Caller<C>,
  effect: (tx: Queryable, confirmed: C) => Promise<T>,
): Promise<T> {
  return beginWhileClientWaits(db, caller, async (tx) => effect(tx, await caller.confirm(tx)));
}

/** A transaction before which a request has written nothing: it does not begin once the client is gone. */
async function beginWhileClientWaits<T>(
  db: Database,
  { request }: Pick<Caller, "request">,
  run: (tx: Transaction) => Promise<T>,
): Promise<T> {
  if (request === undefined) return db.transaction(run);
  const clientContext: TenantContext = {
    tenant: request.tenant,
    get signal() {
      return request.ended;
    },
  };
  return forTenant(db, clientContext).transaction((tx) => {
    // Asked again: the wait for the tenant's share ends with the request, that for a connection, which follows it, does not.
    if (request.isEnded) throw clientDisconnected(request.ended.reason);
    request.detachFromClient?.();
    return run(tx);
  });
}

/**
 * The caller for a change that no request makes: one that follows from a request, which was authorized before, or one of a job
 * (`systemAuthor`). Nothing is confirmed and no row is locked, so the change must take no quota.
 */
export function asAuthorized(author: Author): Caller {
  return { author, confirm: async () => undefined, request: undefined };
}

/** One change of a record in Postgres; `C` is what the caller may do. */
interface RecordChange<R, T, C> {
  /**
   * The record, under a lock that is held until the transaction ends: its own, or that of the organization's row, which the
   * confirmation of the caller's right holds. Its statements go out behind those of the confirmation. Throws 404.
   */
  lock: (tx: Queryable, confirmed: Promise<C>) => Promise<R>;
  /** Its entity tag; undefined while there is no record. */
  tag: (record: R) => string | undefined;
  /** The fields of a body that cannot be changed, with the record's values. */
  immutable?: (record: R) => Readonly<Record<string, unknown>>;
  /** Makes the change, with its audit row. */
  apply: (tx: Queryable, record: R, confirmed: C) => Promise<T>;
}

/** What a request says about the change of a record. */
interface ChangeInput {
  preconditions: Preconditions;
  /** The validated body; undefined without one. */
  body: unknown;
}

/**
 * Changes a record in one transaction: confirms the caller's right, locks the record, compares the conditions of the
 * request (412) and the fields that cannot be changed (422), and applies the change. Throws what these steps throw.
 */
function changeRecord<R, T, C>(
  db: Database,
  caller: Caller<C>,
  { preconditions, body }: ChangeInput,
  { lock, tag, immutable, apply }: RecordChange<R, T, C>,
): Promise<T> {
  return beginWhileClientWaits(db, caller, async (tx) => {
    const confirmation = caller.confirm(tx);
    const [confirmed, record] = await sendTogether(confirmation, lock(tx, confirmation));
    requireMatch(preconditions, tag(record));
    if (immutable !== undefined) requireUnchanged(immutable(record), (body ?? {}) as Record<string, unknown>);
    return apply(tx, record, confirmed);
  });
}

interface TransactOptions<T> extends Pick<OnceOptions<Response>, "secret"> {
  /** Runs after the commit, before the response is sent; not for a repetition. Must not throw. */
  afterCommit?: (result: T) => Promise<void>;
}

/** What a handler gets besides the Hono context; `C` is what the caller may do, as confirmed in a transaction. */
interface SignedInCall<P, Q, B, C = unknown, D = unknown> {
  requestId: string;
  /** The dependencies; its database and Kubernetes client count in the shares of the request's tenant. */
  deps: D;
  /** Path parameters; UUIDs in lower case. */
  params: P;
  query: Q;
  /** Reads and validates the body; call it after the parents in the path were found. Throws 415, 413, 400 or 422. */
  readBody: () => Promise<B>;
  /** Waits until a response that takes long to make may be made; see RunningRequest. Throws 429. */
  acquireComputation: () => Promise<void>;
  author: Author;
  /** Who changes something: `confirm` comes first in a transaction that commits a change or its intent; `transact` and `change` call it. */
  caller: Caller<C>;
  /**
   * Runs a POST whose effect lies in Postgres, at most once per Idempotency-Key: the caller's right is confirmed, then
   * `effect`, its audit row and the response that a repeated request gets are one transaction. Call it after readBody.
   * Throws 422 idempotency_key_reused, 409 operation_in_progress, and what `caller.confirm` and `effect` throw.
   */
  transact: <T, R extends Response>(
    effect: (tx: Queryable, attempt: Pick<Attempt, "id">, confirmed: C) => Promise<T>,
    respond: (result: T) => R,
    options?: TransactOptions<T>,
  ) => Promise<Once<R>>;
  /** Runs a PUT or DELETE whose effect lies in Postgres: see changeRecord. Call it after readBody. */
  change: <R, T>(change: RecordChange<R, T, C>) => Promise<T>;
  /** Like `transact`, for a POST whose effect and response are not one transaction: `resume` says how a retry finds the effect. */
  runOnce: <R extends Response>(
    options: OnceOptions<R>,
    run: (attempt: Attempt) => Promise<R>,
  ) => Promise<Once<R>>;
}

/** What a handler gets for a request by a member of the organization in the path. */
export interface OrganizationCall<P, Q, B, D = unknown> extends SignedInCall<P, Q, B, ConfirmedAccess, D> {
  orgId: string;
  membership: Membership;
  /** Throws 403 naming the permission, which `caller.confirm` then confirms too; for those that depend on the body. */
  requirePermission: (permission: Permission) => void;
}

export type CallFor<A extends Access, P, Q, B, D> = A extends "signed-in" | "user" | "platform-admin"
  ? SignedInCall<P, Q, B, unknown, D>
  : OrganizationCall<P, Q, B, D>;

type SignedIn = SignedInCall<unknown, unknown, unknown>;
type InOrganization = OrganizationCall<unknown, unknown, unknown>;

/** Makes the call of a request that has passed all checks. */
export function createCall(
  router: Router,
  operation: Operation,
  c: Context<HttpEnv>,
  request: RunningRequest,
): SignedIn | InOrganization {
  const principal = c.get("principal");
  if (principal === undefined) throw new Error(`${operation.operationId} authenticates no caller`);
  const author = toAuthor(c, operation, principal);
  const membership = c.get("membership");
  if (membership === undefined) {
    const orgId = operation.outlivesOrganization === true ? undefined : c.req.param("orgID");
    const confirm = (tx: Queryable): Promise<unknown> => {
      const lock = orgId === undefined ? undefined : router.access.lockOrganization(tx, orgId);
      return sendTogether(lock ?? Promise.resolve(), confirmCredential(router.access, principal, tx));
    };
    return createSignedInCall(router, operation, c, { author, confirm, request }, request);
  }

  const required: Permission[] = [];
  const caller: Caller<ConfirmedAccess> = {
    author,
    request,
    async confirm(tx) {
      const { orgId } = membership;
      const confirmed = await confirmAccess(router.access, operation.access, { principal, orgId }, tx);
      for (const permission of required) confirmed.requirePermission(permission);
      return confirmed;
    },
  };
  return {
    ...createSignedInCall(router, operation, c, caller, request),
    orgId: membership.orgId,
    membership,
    requirePermission(permission) {
      requireAnyPermission(principal, membership, [permission]);
      required.push(permission);
    },
  };
}

function createSignedInCall<C>(
  router: Router,
  operation: Operation,
  c: Context<HttpEnv>,
  caller: Caller<C>,
  request: RunningRequest,
): SignedInCall<unknown, unknown, unknown, C> {
  let body: { value: unknown; json: unknown } | undefined;
  const { principal } = caller.author;
  const { params, query } = c.get("input") ?? {};
  const { db, kube } = router.deps;
  const { kubeContext, databaseContext, tenant } = request;
  const deps = { ...router.deps, db: forTenant(db, databaseContext), kube: bindToTenant(kube, kubeContext) };

  const runKeyed = async <R extends Response>(
    options: OnceOptions<R>,
    run: (attempt: Attempt, storeResponse: StoreOnce) => Promise<R>,
  ): Promise<Once<R>> => {
    const keyedRequest = {
      scope: `${principalKey(principal)} ${c.req.method} ${c.req.path}${new URL(c.req.url).search}`,
      userId: principal.userId,
      key: c.req.header("idempotency-key"),
      body: body?.json,
      isDryRun: isDryRun(query),
      confirm: () => transactAs(deps.db, caller, async () => undefined),
    };
    const store = router.idempotencyOf(deps.db, forTenant(db, { tenant, signal: undefined }));
    return (await runOnce(c, store, keyedRequest, options, run)) as Once<R>;
  };
  return {
    requestId: c.get("requestId"),
    deps,
    params,
    query,
    async readBody() {
      if (operation.body === undefined) throw new Error(`${operation.operationId} declares no body`);
      const { maxBodyBytes: maxBytes } = router.limits;
      const limits = { maxBytes, budget: router.bodies, request };
      body = await readJsonBody(c, operation.body, limits);
      return body.value;
    },
    acquireComputation: () => request.acquireComputation(),
    author: caller.author,
    caller,
    runOnce: runKeyed,
    change: (change) =>
      changeRecord(deps.db, caller, { preconditions: readPreconditions(c), body: body?.value }, change),
    transact: (effect, respond, { afterCommit, ...options } = {}) =>
      runKeyed({ ...options, resume: "run" }, async ({ id }, storeResponse) => {
        const { result, response } = await transactAs(deps.db, caller, async (tx, confirmed) => {
          const result = await effect(tx, { id }, confirmed);
          return { result, response: await storeResponse(tx, respond(result)) };
        });
        await afterCommit?.(result);
        return response;
      }),
  };
}

/** Whether `dry_run` is set, the only query parameter that this layer knows: a dry run keeps no Idempotency-Key. */
export function isDryRun(query: unknown): boolean {
  return typeof query === "object" && query !== null && "dry_run" in query && query.dry_run === true;
}

/** The author of what this request changes. */
export function toAuthor(
  c: Context<HttpEnv>,
  { access }: Pick<Operation, "access">,
  principal: Principal,
): Author {
  return {
    principal,
    requestId: c.get("requestId"),
    clientRequestId: c.get("clientRequestId"),
    sourceAddress: c.get("sourceAddress"),
    ...(access === "platform-admin" ? { asStaff: true } : {}),
  };
}

import type { z } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { type Caller, type Origin, type Principal, principalKey } from "../authentication/principal.ts";
import { type Access, admit, requireAnyPermission } from "../authorization/guard.ts";
import type { Permission } from "../authorization/permissions.ts";
import type { AccessControl, HttpEnv, Router } from "../env.ts";
import { ApiError, dependencyUnavailable } from "../errors.ts";
import { type Once, runOnce } from "../idempotency/run-once.ts";
import { conditionSchema, documentOperation } from "../openapi/document-operation.ts";
import { findSourceAddress } from "../server/source-address.ts";
import { readJsonBody } from "./body.ts";
import type { CallFor, SignedInCall } from "./call.ts";
import { type CheckedInput, createInputReader, isDryRun } from "./input.ts";
import type { Operation, PathParams, ResponseOf } from "./operation.ts";

/** Above the 25 s of one Kubernetes write and a read after it; below the 60 s lease of an Idempotency-Key. */
const REQUEST_DEADLINE_MS = 55_000;

/**
 * Adds one operation: to the router and to the OpenAPI document. Before the handler runs, in this order: credential
 * (401), organization id (400), membership (404), permission (403), other path parameters and the query (400). The
 * handler then finds the parents in the path (404), and reads the body by `call.readBody()` (415, 413, 400, 422).
 */
export function addRoute<
  const P extends string,
  const A extends Access,
  const R extends Operation["responses"],
  const M extends Operation["method"],
  Q extends z.ZodType = z.ZodObject<Record<never, never>>,
  B extends z.ZodType = z.ZodUndefined,
>(
  router: Router,
  operation: Operation<P, A, Q, B, R> & { method: M },
  handle: (
    c: Context<HttpEnv>,
    call: CallFor<A, PathParams<P>, z.output<Q>, z.output<B>>,
  ) => Promise<M extends "post" ? Once<ResponseOf<R>> : ResponseOf<R>>,
): void {
  mount(router, operation, handle as Handle);
}

// A call is made of what the very schemas in the type of the handler let through.
type Handle = (c: Context<HttpEnv>, call: unknown) => Promise<Response>;

function mount(router: Router, operation: Operation, handle: Handle): void {
  documentOperation(router.app.openAPIRegistry, operation);
  router.operations.push(operation);
  const path = operation.path.replaceAll(/\{(.+?)\}/g, ":$1");
  if (operation.access === "platform-admin") {
    router.app.on(operation.method.toUpperCase(), [path], traceStaff(router, operation));
  }
  router.app.on(operation.method.toUpperCase(), [path], serve(router, operation, handle));
}

/** One request on its way through an operation: its checks in their order, then the handler. */
function serve(router: Router, operation: Operation, handle: Handle) {
  const readInput = createInputReader(operation);
  return async (c: Context<HttpEnv>): Promise<Response> => {
    c.set("route", operation.path);
    requireShortUrl(c.req.url, router.limits.maxUrlBytes);
    requirePlainConditions(c);
    if (c.req.url.includes("%00")) throw new ApiError("bad_request", "The address must not hold U+0000.");
    const input = readInput(c);
    const caller = await enter(router, operation, c);
    c.set("caller", caller);
    if ("fault" in input) throw input.fault;
    const call = createCall(router, operation, c, caller, input);
    return await withDeadline(handle(c, call), REQUEST_DEADLINE_MS);
  };
}

/** A dependency that neither answers nor refuses must not hold the client for ever; the work itself goes on. */
function withDeadline<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => reject(dependencyUnavailable("A part of the service")), deadlineMs);
  const inTime =
    <V>(settle: (value: V) => void) =>
    (value: V) => {
      clearTimeout(timer);
      settle(value);
    };
  work.then(inTime(resolve), inTime(reject));
  return promise;
}

/** The caller of the request. Throws what the guard refuses it with. */
function enter(router: Router, operation: Operation, c: Context<HttpEnv>): Promise<Caller> {
  const ticket = operation.acceptsTicket === true ? findTicket(c) : undefined;
  const control = ticket === undefined ? router.access : withTicket(router.access, c.req.path);
  return admit(
    router.limiter.limit(control, operation, c),
    operation.access,
    {
      authorization: ticket ?? c.req.header("authorization"),
      orgId: c.req.param("orgID"),
      requestId: c.get("requestId"),
      sourceAddress: findSourceAddress(c),
    },
    (principal) => recordStaff(router, operation, c, { principal, status: 403, asStaff: false }),
  );
}

/** The ticket of a request that has no other credential. */
function findTicket(c: Context<HttpEnv>): string | undefined {
  return c.req.header("authorization") === undefined ? c.req.query("ticket") : undefined;
}

/** The same access control, for which a ticket is the credential. */
function withTicket(access: AccessControl, path: string): AccessControl {
  return {
    ...access,
    authenticate: (ticket = "") => access.redeemTicket(ticket, path),
    isKnown: () => false,
  };
}

/**
 * Every request on a path of the platform's staff leaves a trace before its answer leaves: a change has its own audit
 * row, all others get one here, refused ones too.
 */
function traceStaff(router: Router, operation: Operation): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    await next();
    const principal = c.get("caller")?.principal;
    const { status } = c.res;
    if (principal === undefined || (operation.method !== "get" && status < 400)) return;
    await recordStaff(router, operation, c, { principal, status, asStaff: true });
  };
}

async function recordStaff(
  router: Router,
  operation: Operation,
  c: Context<HttpEnv>,
  { principal, status, asStaff }: { principal: Principal; status: number; asStaff: boolean },
): Promise<void> {
  await router.recordStaffRequest(
    { ...toOrigin(operation, c, principal), asStaff },
    { operation, path: c.req.path, orgId: c.req.param("orgID"), status },
  );
}

function toOrigin(operation: Operation, c: Context<HttpEnv>, principal: Principal): Origin {
  return {
    principal,
    requestId: c.get("requestId"),
    sourceAddress: findSourceAddress(c),
    ...(operation.access === "platform-admin" ? { asStaff: true } : {}),
  };
}

function requireShortUrl(url: string, maxBytes: number): void {
  if (url.length <= maxBytes) return;
  throw new ApiError("bad_request", `The address must not be longer than ${maxBytes} bytes.`);
}

/** What the document says of If-Match and If-None-Match: longer lists of tags, or other characters, are nobody's. */
function requirePlainConditions(c: Context<HttpEnv>): void {
  for (const name of ["if-match", "if-none-match"]) {
    const value = c.req.header(name);
    if (value === undefined || conditionSchema.safeParse(value).success) continue;
    throw new ApiError("bad_request", `The header ${name} must be at most 1024 characters of ASCII.`);
  }
}

function createCall(
  router: Router,
  operation: Operation,
  c: Context<HttpEnv>,
  { principal, membership }: Caller,
  input: CheckedInput,
) {
  const shared = {
    requestId: c.get("requestId"),
    ...input,
  };
  let bodyText = "";
  const readBody = async () => {
    if (operation.body === undefined) throw new Error(`${operation.operationId} declares no body`);
    const { value, text } = await readJsonBody(c, operation.body, router.limits.maxBodyBytes);
    bodyText = text;
    return value;
  };
  if (principal === undefined) return { ...shared, readBody };
  const origin = toOrigin(operation, c, principal);
  const once: SignedInCall<unknown, unknown, unknown>["runOnce"] = async (options, run) => {
    const request = {
      scope: `${principalKey(principal)} ${c.req.method} ${c.req.path}${new URL(c.req.url).search}`,
      key: c.req.header("idempotency-key"),
      bodyText,
      isDryRun: isDryRun(input.query),
    };
    const response = await runOnce(c, router.idempotency, request, options, run);
    return response as Once<typeof response>;
  };
  const transact: SignedInCall<unknown, unknown, unknown>["transact"] = (
    effect,
    respond,
    { afterCommit, ...options } = {},
  ) =>
    once(options, async ({ id, settle }) => {
      const { result, response } = await router.db.transaction(async (tx) => {
        const result = await effect(tx, { id });
        return { result, response: await settle(tx, respond(result)) };
      });
      await afterCommit?.(result);
      return response;
    });
  if (membership === undefined) return { ...shared, readBody, origin, runOnce: once, transact };
  return {
    ...shared,
    readBody,
    origin,
    runOnce: once,
    transact,
    orgId: membership.orgId,
    membership,
    requirePermission: (permission: Permission) => requireAnyPermission(principal, membership, [permission]),
  };
}

import { z } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { timeout } from "hono/timeout";
import type { Principal } from "../authentication/principal.ts";
import {
  type Access,
  type AccessControl,
  authorize,
  isPlatformAdmin,
  needsMembership,
} from "../authorization/guard.ts";
import type { HttpEnv, RequestInput } from "../env.ts";
import { ApiError } from "../errors.ts";
import { handleUnknownMethod } from "../handle-error.ts";
import type { Once } from "../idempotency/run-once.ts";
import type { RequestLimits } from "../limits.ts";
import { findConsumers } from "./byte-budget.ts";
import { type CallFor, createCall, isDryRun, toAuthor } from "./caller.ts";
import { conditionSchema, type Operation, type PathParams, type ResponseOf } from "./operation.ts";
import type { RequestDeps, Router } from "./router.ts";
import { type RequestKind, runWithTenantSlot } from "./tenant-slot.ts";
import { idSchema, invalidRequest, parseInput } from "./validate.ts";

/** Above the 25 s of one Kubernetes write and a read after it; below the 60 s lease of an Idempotency-Key. */
const REQUEST_DEADLINE_MS = 55_000;

/**
 * Adds one operation to the router and to the OpenAPI document. Its handler runs after these checks: credential
 * (401), organization id (400), membership (404), permission (403), URL, condition headers, path and query (400). It
 * then reads the parents in the path (404), and the body by `call.readBody()` (415, 413, 400, 422).
 */
export function addRoute<
  const P extends string,
  const A extends Access,
  const R extends Operation["responses"],
  const M extends Operation["method"],
  Q extends z.ZodType = z.ZodObject<Record<never, never>>,
  B extends z.ZodType = z.ZodUndefined,
  D extends RequestDeps = RequestDeps,
>(
  router: Router<D>,
  operation: Operation<P, A, Q, B, R> & { method: M },
  handle: (
    c: Context<HttpEnv>,
    call: CallFor<A, PathParams<P>, z.output<Q>, z.output<B>, D>,
  ) => Promise<M extends "post" ? Once<ResponseOf<R>> : ResponseOf<R>>,
): void {
  router.operations.push(operation);
  const check = createChecks(router, operation);
  router.app.on(
    operation.method.toUpperCase(),
    [toRoutePath(operation.path)],
    ...(operation.access === "platform-admin" ? [recordStaffRequests(router, operation)] : []),
    // One function for all checks: each further one in the chain costs every request four promises.
    async (c, next) => {
      c.set("input", await check(c));
      await next();
    },
    // The work itself goes on: see handle-error.ts for the response.
    timeout(REQUEST_DEADLINE_MS, () => new HTTPException(503)),
    // A call consists of what the very schemas in the type of the handler have validated.
    (c) =>
      runWithTenantSlot(
        c,
        {
          limits: router.tenantLimits,
          kind: requestKindOf(operation, c),
          deadlineMs: REQUEST_DEADLINE_MS,
          // Checked again, for the request has waited: its caller may not have read the responses of earlier ones.
          beginTurn: () => router.unread.requireCapacity(findConsumers(c)),
        },
        async (request) => {
          if (operation.body === undefined) await request.acquireSlot();
          return handle(c, createCall(router, operation, c, request) as Parameters<typeof handle>[1]);
        },
      ),
  );
}

/** The checks of a request before its body, in the order that addRoute names. Returns the validated path and query. */
function createChecks(router: Router, operation: Operation): (c: Context<HttpEnv>) => Promise<RequestInput> {
  const names = [...operation.path.matchAll(/\{(.+?)\}/g)].map((match) => match[1] ?? "");
  const pathSchema = z.strictObject(
    Object.fromEntries(names.map((name) => [name, operation.params?.[name] ?? idSchema])),
  );
  const querySchema = operation.query ?? z.strictObject({});
  const isInOrganization = needsMembership(operation.access);
  return async (c) => {
    c.set("route", operation.path);
    const principal = await authenticateCaller(c, router, operation);
    const path = c.req.param();
    // Before the membership is looked up by it.
    if (isInOrganization) validate("path", organizationPath, path);
    await authorizeCaller(c, router, operation, principal);
    requireAcceptable(c, router.limits);
    const params = validate("path", pathSchema, path);
    // A parameter that is sent several times is a list.
    const query = Object.entries(c.req.queries()).map(([name, all]) => [
      name,
      all.length === 1 ? all[0] : all,
    ]);
    return { params, query: validate("query", querySchema, Object.fromEntries(query)) };
  };
}

const organizationPath = z.object({ orgID: idSchema });

/**
 * Responds with 405 to all other methods of a path that the parameter of another operation would match too, as
 * `accesses/foreign` is one of `accesses/{accessID}`. It is called before that operation is added.
 */
export function refuseOtherMethods({ app, access, limiter, operations }: Router, path: string): void {
  const methods = operations
    .filter((operation) => operation.path === path)
    .flatMap(({ method }) => (method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()]));
  app.all(toRoutePath(path), async (c) => {
    await limiter.countUnmatched(access, c);
    return handleUnknownMethod(c, methods);
  });
}

function toRoutePath(path: string): string {
  return path.replaceAll(/\{(.+?)\}/g, ":$1");
}

function requestKindOf(operation: Operation, c: Context<HttpEnv>): RequestKind {
  if (operation.method === "get") return "read";
  return isDryRun(c.get("input")?.query) ? "dry run" : "write";
}

/**
 * Records every authenticated request on a path of the platform's staff before its response leaves: a successful change
 * writes its own audit row, all others get one here, refused ones too.
 */
function recordStaffRequests(router: Router, operation: Operation): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    await next();
    const principal = c.get("principal");
    const { status } = c.res;
    if (principal === undefined) return;
    if (operation.method !== "get" && status < 400) return;
    await router.recordStaffRequest(
      { ...toAuthor(c, operation, principal), asStaff: isPlatformAdmin(principal) },
      {
        operation,
        path: c.req.path,
        query: c.req.query(),
        orgId: c.req.param("orgID") ?? c.req.query("org_id"),
        status,
      },
    );
  };
}

/** Throws 400 for a URL or a condition header that no operation accepts. */
function requireAcceptable(c: Context<HttpEnv>, { maxUrlBytes }: RequestLimits): void {
  if (c.req.url.length > maxUrlBytes)
    throw new ApiError("bad_request", `The URL must not be longer than ${maxUrlBytes} bytes.`);
  for (const name of ["if-match", "if-none-match"]) {
    const condition = c.req.header(name);
    if (condition === undefined || conditionSchema.safeParse(condition).success) continue;
    throw new ApiError("bad_request", `The header ${name} must be * or quoted ETags, at most 1024 bytes.`);
  }
  if (c.req.url.includes("%00")) throw new ApiError("bad_request", "The URL must not hold U+0000.");
}

/** Sets `principal` by the request's credential or stream ticket. Throws 401 without a valid one, 429 beyond the rate limits. */
async function authenticateCaller(
  c: Context<HttpEnv>,
  router: Router,
  operation: Operation,
): Promise<Principal> {
  const ticket = operation.acceptsStreamTicket === true ? findStreamTicket(c) : undefined;
  const control = ticket === undefined ? router.access : withStreamTicket(router.access, c.req.path);
  const credential = ticket ?? c.req.header("authorization");
  if (credential === undefined) router.limiter.countAnonymous(c);
  const principal = await router.limiter.limit(control, operation, c).authenticate(credential);
  c.set("principal", principal);
  return principal;
}

/** The stream ticket of a request that has no other credential. */
function findStreamTicket(c: Context<HttpEnv>): string | undefined {
  return c.req.header("authorization") === undefined ? c.req.query("ticket") : undefined;
}

/** Access control that takes a stream ticket as the credential. */
function withStreamTicket(access: AccessControl, path: string): AccessControl {
  return {
    ...access,
    authenticate: (ticket = "") => access.redeemStreamTicket(ticket, path),
    isKnown: () => false,
    isWellFormed: () => false,
  };
}

/**
 * Sets `membership` for an operation inside an organization. Throws 403 or 404: see `authorize`, and 429, also for a
 * caller who leaves too many responses unread: a write is refused before its effect.
 */
async function authorizeCaller(
  c: Context<HttpEnv>,
  router: Router,
  operation: Operation,
  principal: Principal,
): Promise<void> {
  const orgId = c.req.param("orgID")?.toLowerCase();
  const membership = await authorize(router.access, operation.access, principal, orgId);
  c.set("membership", membership);
  if (operation.access === "platform-admin") await router.recordStaffUse(principal.userId);
  // The limit of changes does not count DELETE, which adds no more to the audit log than was made before, and takes rights away.
  const isChange = ["post", "put"].includes(operation.method) && c.req.query("dry_run") !== "true";
  if (membership !== undefined)
    router.limiter.countInOrganization(membership.orgId, c, isChange ? principal.userId : undefined);
  router.unread.requireCapacity(findConsumers(c));
}

/** Throws 400 for what is malformed or unknown. */
function validate(where: "path" | "query", schema: z.ZodType, input: Record<string, unknown>): unknown {
  const result = parseInput(schema, input);
  if (!result.success) throw invalidRequest(where, result.error.issues, input);
  return result.data;
}

import { z } from "@hono/zod-openapi";
import { zValidator } from "@hono/zod-validator";
import type { Context, MiddlewareHandler } from "hono";
import { readJsonBody } from "./body.ts";
import type { CallFor, OrganizationCall } from "./call.ts";
import type { AccessControl, HttpEnv, Router } from "./env.ts";
import { ApiError, dependencyUnavailable } from "./errors.ts";
import { type Access, admit, requireAnyPermission } from "./guard.ts";
import { runOnce } from "./once.ts";
import { conditionSchema, documentOperation } from "./openapi.ts";
import type { AnswerOf, Operation, PathParams } from "./operation.ts";
import type { Permission } from "./permissions.ts";
import { type Origin, type Principal, principalKey } from "./principal.ts";
import { findSourceAddress } from "./source-address.ts";
import { idSchema, invalidRequest } from "./validate.ts";

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
  const R extends Operation["answers"],
  Q extends z.ZodType = z.ZodObject<Record<never, never>>,
  B extends z.ZodType = z.ZodUndefined,
>(
  router: Router,
  operation: Operation<P, A, Q, B, R>,
  handle: (
    c: Context<HttpEnv>,
    call: CallFor<A, PathParams<P>, z.output<Q>, z.output<B>>,
  ) => Promise<AnswerOf<R>>,
): void {
  documentOperation(router.app.openAPIRegistry, operation);
  router.operations.push(operation);
  // The call is made of what the very schemas in the type of the handler let through.
  const run = async (c: Context<HttpEnv>): Promise<Response> => {
    const call = createCall(router, operation, c);
    const answer = await withDeadline(handle(c, call as never), REQUEST_DEADLINE_MS);
    if (operation.method === "post" && answer.ok && !call.hasRunOnce()) {
      throw new Error(`${operation.operationId} answered without once()`);
    }
    return answer;
  };
  router.app.on(
    operation.method.toUpperCase(),
    [operation.path.replaceAll(/\{(.+?)\}/g, ":$1")],
    enter(router, operation),
    validate("param", paramsSchema(operation)),
    validate("query", operation.query ?? z.strictObject({})),
    run,
  );
}

/** A dependency that neither answers nor refuses must not hold the client for ever; the work itself goes on. */
async function withDeadline<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(dependencyUnavailable("A part of the service")), deadlineMs);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function validate(target: "param" | "query", schema: z.ZodType): MiddlewareHandler<HttpEnv> {
  const where = target === "param" ? "path" : "query";
  return zValidator(target, schema, (result) => {
    if (!result.success) throw invalidRequest(where, result.error.issues, result.data);
  });
}

function enter(router: Router, operation: Operation): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    c.set("route", operation.path);
    requireShortUrl(c.req.url, router.limits.maxUrlBytes);
    requirePlainConditions(c);
    if (c.req.url.includes("%00")) throw new ApiError("bad_request", "The address must not hold U+0000.");
    const ticket = operation.acceptsTicket === true ? findTicket(c) : undefined;
    const control = ticket === undefined ? router.access : withTicket(router.access, c.req.path);
    const visitor = await admit(
      router.limiter.limit(control, operation, c),
      operation.access,
      {
        authorization: ticket ?? c.req.header("authorization"),
        orgId: c.req.param("orgID"),
        requestId: c.get("requestId"),
        sourceAddress: findSourceAddress(c),
      },
      (principal) => traceStaffRequest(router, operation, c, { principal, status: 403, asStaff: false }),
    );
    c.set("visitor", visitor);
    await next();
    if (operation.access !== "platform-admin" || visitor.principal === undefined) return;
    const { status } = c.res;
    if (operation.method !== "get" && status < 400) return;
    await traceStaffRequest(router, operation, c, { principal: visitor.principal, status, asStaff: true });
  };
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
async function traceStaffRequest(
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

/** The one query parameter that this layer knows: what is only tried leaves no record of its key. */
function isDryRun(query: unknown): boolean {
  return typeof query === "object" && query !== null && "dry_run" in query && query.dry_run === true;
}

function paramsSchema(operation: Operation): z.ZodType {
  const names = [...operation.path.matchAll(/\{(.+?)\}/g)].map((match) => match[1] ?? "");
  return z.strictObject(
    Object.fromEntries(names.map((name) => [name, operation.params?.[name] ?? idSchema])),
  );
}

function createCall(
  router: Router,
  operation: Operation,
  c: Context<HttpEnv, string, { in: object; out: { param: unknown; query: unknown } }>,
) {
  const { principal, membership } = c.get("visitor") ?? {};
  const shared = {
    requestId: c.get("requestId"),
    params: c.req.valid("param"),
    query: c.req.valid("query"),
    hasRunOnce: () => ranOnce,
  };
  let bodyText = "";
  let ranOnce = false;
  const readBody = async () => {
    if (operation.body === undefined) throw new Error(`${operation.operationId} declares no body`);
    const { value, text } = await readJsonBody(c, operation.body, router.limits.maxBodyBytes);
    bodyText = text;
    return value;
  };
  if (principal === undefined) return { ...shared, readBody };
  const origin = toOrigin(operation, c, principal);
  const once: OrganizationCall<unknown, unknown, unknown>["once"] = (options, run) => {
    ranOnce = true;
    return runOnce(
      c,
      router.idempotency,
      {
        scope: `${principalKey(principal)} ${c.req.method} ${c.req.path}${new URL(c.req.url).search}`,
        key: c.req.header("idempotency-key"),
        bodyText,
        isDryRun: isDryRun(shared.query),
      },
      options,
      run,
    );
  };
  if (membership === undefined) return { ...shared, readBody, origin, once };
  return {
    ...shared,
    readBody,
    origin,
    once,
    orgId: membership.orgId,
    membership,
    requirePermission: (permission: Permission) => requireAnyPermission(principal, membership, [permission]),
  };
}

import type { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { timeout } from "hono/timeout";
import type { Access } from "../authorization/guard.ts";
import type { HttpEnv } from "../env.ts";
import type { Once } from "../idempotency/run-once.ts";
import { authenticateCaller, authorizeCaller } from "./admit-caller.ts";
import type { CallFor } from "./call.ts";
import { checkRequest } from "./check-request.ts";
import { createCall, isDryRun } from "./create-call.ts";
import type { Operation, PathParams, ResponseOf } from "./operation.ts";
import type { Router } from "./router.ts";
import { recordStaffRequests } from "./staff-requests.ts";
import { type RequestKind, runTenantWork } from "./tenant-work.ts";
import { validateOrganizationId, validatePath, validateQuery } from "./validate-request.ts";

/** Above the 25 s of one Kubernetes write and a read after it; below the 60 s lease of an Idempotency-Key. */
const REQUEST_DEADLINE_MS = 55_000;

/**
 * Adds one operation to the router and to the OpenAPI document. Its handler runs after these checks, in this order:
 * credential (401), organization id (400), membership (404), permission (403), path and query parameters (400). The
 * handler then reads the parents in the path (404), and the body by `call.readBody()` (415, 413, 400, 422).
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
  router.operations.push(operation);
  router.app.on(
    operation.method.toUpperCase(),
    [operation.path.replaceAll(/\{(.+?)\}/g, ":$1")],
    recordStaffRequests(router, operation),
    checkRequest(router.limits, operation),
    authenticateCaller(router, operation),
    validateOrganizationId(operation),
    authorizeCaller(router, operation),
    validatePath(operation),
    validateQuery(operation),
    // The work itself goes on: see handle-error.ts for the response.
    timeout(REQUEST_DEADLINE_MS, () => new HTTPException(503)),
    // A call consists of what the very schemas in the type of the handler have validated.
    (c) =>
      runTenantWork(
        c,
        { limits: router.tenantLimits, kind: kindOf(operation, c), deadlineMs: REQUEST_DEADLINE_MS },
        async (work) => {
          if (operation.body === undefined) await work.begin();
          return handle(c, createCall(router, operation, c, work) as Parameters<typeof handle>[1]);
        },
      ),
  );
}

function kindOf(operation: Operation, c: Context<HttpEnv>): RequestKind {
  if (operation.method === "get") return "read";
  return isDryRun(c.req.valid("query" as never)) ? "dry run" : "write";
}

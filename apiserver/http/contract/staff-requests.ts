import type { MiddlewareHandler } from "hono";
import { isPlatformAdmin } from "../authorization/guard.ts";
import type { HttpEnv } from "../env.ts";
import type { Operation } from "./operation.ts";
import { toOrigin } from "./origin.ts";
import type { Router } from "./router.ts";

/**
 * Records every authenticated request on a path of the platform's staff before its response leaves: a successful change
 * writes its own audit row, all others get one here, refused ones too.
 */
export function recordStaffRequests(router: Router, operation: Operation): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    await next();
    const principal = c.get("principal");
    const { status } = c.res;
    if (operation.access !== "platform-admin" || principal === undefined) return;
    if (operation.method !== "get" && status < 400) return;
    await router.recordStaffRequest(
      { ...toOrigin(c, operation, principal), asStaff: isPlatformAdmin(principal) },
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

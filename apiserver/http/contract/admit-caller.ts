import type { Context, MiddlewareHandler } from "hono";
import { type AccessControl, authorize } from "../authorization/guard.ts";
import type { HttpEnv } from "../env.ts";
import type { Operation } from "./operation.ts";
import type { Router } from "./router.ts";

/**
 * Sets `principal` by the request's credential or ticket. Responds with 401 without a valid one and 429 beyond the rate
 * limits.
 */
export function authenticateCaller(router: Router, operation: Operation): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const ticket = operation.acceptsTicket === true ? findTicket(c) : undefined;
    const control = ticket === undefined ? router.access : withTicket(router.access, c.req.path);
    const credential = ticket ?? c.req.header("authorization");
    c.set("principal", await router.limiter.limit(control, operation, c).authenticate(credential));
    await next();
  };
}

/** Sets `membership` for an operation inside an organization. Responds with 403 or 404: see `authorize`, and 429. */
export function authorizeCaller(router: Router, operation: Operation): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const principal = c.get("principal");
    if (principal !== undefined) {
      const orgId = c.req.param("orgID")?.toLowerCase();
      const membership = await authorize(router.access, operation.access, principal, orgId);
      c.set("membership", membership);
      if (operation.access === "platform-admin") await router.rememberStaff(principal.userId);
      if (membership !== undefined) router.limiter.countInOrganization(membership.orgId, c);
    }
    await next();
  };
}

/** The ticket of a request that has no other credential. */
function findTicket(c: Context<HttpEnv>): string | undefined {
  return c.req.header("authorization") === undefined ? c.req.query("ticket") : undefined;
}

/** Access control that takes a ticket as the credential. */
function withTicket(access: AccessControl, path: string): AccessControl {
  return {
    ...access,
    authenticate: (ticket = "") => access.redeemTicket(ticket, path),
    isKnown: () => false,
    isWellFormed: () => false,
  };
}

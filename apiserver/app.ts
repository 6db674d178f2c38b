import { OpenAPIHono } from "@hono/zod-openapi";
import { methodNotAllowed } from "hono/method-not-allowed";
import { addApiTokenRoutes } from "./api-tokens/routes.ts";
import { findTokenMembership } from "./api-tokens/store.ts";
import { addAuditRoutes } from "./audit/routes.ts";
import { recordStaffRequest } from "./audit/store.ts";
import { addClusterAccessRoutes } from "./cluster-accesses/routes.ts";
import { addClusterRoutes } from "./clusters/routes.ts";
import type { Deps } from "./deps.ts";
import { type Authenticator, invalidTicket } from "./http/authentication/authenticator.ts";
import type { Operation } from "./http/contract/operation.ts";
import type { HttpEnv, Router } from "./http/env.ts";
import { handleError, handleUnknownMethod, handleUnmatched } from "./http/handle-error.ts";
import { createIdempotencyStore } from "./http/idempotency/store.ts";
import { addDocumentRoutes } from "./http/openapi/docs.ts";
import { createRateLimiter } from "./http/rate-limits/rate-limit.ts";
import { addHealthRoutes } from "./http/server/health.ts";
import { observe } from "./http/server/observe.ts";
import type { Readiness } from "./http/server/readiness.ts";
import { createSourceFinder } from "./http/server/source-address.ts";
import { addMeRoute } from "./members/me.ts";
import { addMemberRoutes } from "./members/routes.ts";
import { findOrAcceptMembership } from "./members/store.ts";
import { addNetworkPolicyRoutes } from "./network-policies/routes.ts";
import { addNodePoolRoutes } from "./node-pools/routes.ts";
import { addAdminOrganizationRoutes } from "./organizations/admin-routes.ts";
import { addOrganizationRoutes } from "./organizations/routes.ts";
import { addSystemEventRoutes } from "./system-events/routes.ts";
import { redeemTicket } from "./system-events/tickets.ts";

export interface AppParts {
  authenticator: Pick<Authenticator, "authenticate"> & Partial<Pick<Authenticator, "isKnown">>;
  readiness: Readiness;
  /** Whether the process keeps up with its work; without it nobody looks. */
  isAlive?: () => boolean;
  /** Filled with every operation that the application answers. */
  operations?: Operation[];
}

/** The whole API as one Hono application, without listening: the table of contents of this program. */
export function createApp(deps: Deps, parts: AppParts): OpenAPIHono<HttpEnv> {
  const app = new OpenAPIHono<HttpEnv>();
  app.use(observe(deps.log, deps.metrics, createSourceFinder(deps.config.limits.trustedProxies)));
  app.onError(handleError);
  app.notFound(handleUnmatched(methodNotAllowed({ app, onMethodNotAllowed: handleUnknownMethod })));

  const router: Router = {
    app,
    access: {
      authenticate: parts.authenticator.authenticate,
      isKnown: parts.authenticator.isKnown ?? (() => false),
      async redeemTicket(ticket, path) {
        const principal = await redeemTicket(deps.db, ticket, path, deps.now());
        if (principal === undefined) throw invalidTicket();
        return principal;
      },
      findMembership: (principal, orgId, origin) =>
        principal.kind === "token"
          ? findTokenMembership(deps, principal, orgId)
          : findOrAcceptMembership(deps, principal, orgId, origin),
    },
    db: deps.db,
    idempotency: createIdempotencyStore(deps.db),
    limiter: createRateLimiter(deps.config.limits.rates),
    limits: deps.config.limits,
    operations: parts.operations ?? [],
    recordStaffRequest: (origin, request) => recordStaffRequest(deps, origin, request),
  };
  const { readiness, isAlive = () => true } = parts;
  addHealthRoutes(router, { readiness, isAlive, registry: deps.metrics });
  addDocumentRoutes(router);
  addMeRoute(router, deps);
  addOrganizationRoutes(router, deps);
  addAdminOrganizationRoutes(router, deps);
  addMemberRoutes(router, deps);
  addApiTokenRoutes(router, deps);
  addAuditRoutes(router, deps);
  addClusterRoutes(router, deps);
  addClusterAccessRoutes(router, deps);
  addNetworkPolicyRoutes(router, deps);
  addNodePoolRoutes(router, deps);
  addSystemEventRoutes(router, deps);
  return app;
}

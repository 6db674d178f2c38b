import { OpenAPIHono } from "@hono/zod-openapi";
import { methodNotAllowed } from "hono/method-not-allowed";
import { addClusterRoutes } from "./clusters/routes.ts";
import type { Deps } from "./deps.ts";
import type { Authenticator } from "./http/auth.ts";
import { addDocumentRoutes } from "./http/docs.ts";
import type { HttpEnv, Router } from "./http/env.ts";
import { handleError, handleUnknownMethod, handleUnknownPath } from "./http/handle-error.ts";
import { addHealthRoutes } from "./http/health.ts";
import { createIdempotencyStore } from "./http/idempotency.ts";
import { observe } from "./http/observe.ts";
import type { Readiness } from "./http/readiness.ts";
import { addMemberRoutes } from "./members/routes.ts";
import { findMembership } from "./members/store.ts";
import { addNodePoolRoutes } from "./node-pools/routes.ts";
import { addOrganizationRoutes } from "./organizations/routes.ts";
import { addSystemEventRoutes } from "./system-events/routes.ts";

export interface AppParts {
  authenticator: Pick<Authenticator, "authenticate">;
  readiness: Readiness;
}

/** The whole API as one Hono application, without listening: the table of contents of this program. */
export function createApp(deps: Deps, parts: AppParts): OpenAPIHono<HttpEnv> {
  const app = new OpenAPIHono<HttpEnv>();
  app.use(observe(deps.log, deps.metrics));
  app.use(methodNotAllowed({ app, onMethodNotAllowed: handleUnknownMethod }));
  app.onError(handleError);
  app.notFound(handleUnknownPath);

  const router: Router = {
    app,
    access: {
      authenticate: parts.authenticator.authenticate,
      findMembership: (principal, orgId) => findMembership(deps, principal, orgId),
    },
    idempotency: createIdempotencyStore(deps.db),
  };
  addHealthRoutes(router, parts.readiness, deps.metrics);
  addDocumentRoutes(router);
  addMemberRoutes(router, deps);
  addOrganizationRoutes(router, deps);
  addClusterRoutes(router, deps);
  addNodePoolRoutes(router, deps);
  addSystemEventRoutes(router, deps);
  return app;
}

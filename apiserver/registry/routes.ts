import type { Deps } from "../deps.ts";
import type { Router } from "../http/contract/router.ts";
import { createRegistryAccess } from "./backend/access.ts";
import { addCredentialRoutes } from "./credentials/credential-routes.ts";
import { addNotificationRoutes } from "./notification-routes.ts";
import { addRepositoryRoutes, addTagRoutes } from "./repository-routes.ts";
import { addScanRoutes } from "./scan-routes.ts";
import { addTokenRoutes } from "./token-routes.ts";
import { addUsageRoutes } from "./usage/usage-routes.ts";

/** Operations on the images of an organization, and what the registry itself asks of the API server. */
export function addRegistryRoutes(router: Router<Deps>, deps: Deps): void {
  const useRegistry = createRegistryAccess(deps, deps.metrics);
  addRepositoryRoutes(router, useRegistry);
  addTagRoutes(router, useRegistry);
  addScanRoutes(router, useRegistry);
  addUsageRoutes(router);
  addCredentialRoutes(router);
  addTokenRoutes(router, deps, useRegistry);
  addNotificationRoutes(router, deps);
}

import type { z } from "@hono/zod-openapi";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import type { Router } from "../http/contract/router.ts";
import { createRegistryAccess, requireRegistry } from "./backend/access.ts";
import type { RegistryLimits } from "./config.ts";
import { addCredentialRoutes } from "./credentials/credential-routes.ts";
import { addNotificationRoutes } from "./notification-routes.ts";
import { addRepositoryRoutes, addTagRoutes } from "./repository-routes.ts";
import { addScanRoutes } from "./scan-routes.ts";
import { registryUsageRecord } from "./schema.ts";
import { addTokenRoutes } from "./token-routes.ts";
import { GIB } from "./usage/limit.ts";
import { findUsage } from "./usage/store.ts";
import type { UsageRow } from "./usage/table.ts";

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

/** Adds the operation that returns what an organization stores in the registry. */
function addUsageRoutes(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/organizations/{orgID}/registry/usage",
      operationId: "getRegistryUsage",
      tag: "Registry",
      summary: "Get what the images take",
      description:
        "Measured every hour, and every ten minutes at a limit, at which nothing can be pushed. Blobs that no tag needs any more count no longer.",
      access: "registry:read",
      responses: { 200: { description: "Sizes and limits.", body: registryUsageRecord } },
    },
    async (c, { deps, orgId }) => {
      const { limits } = requireRegistry(deps.config);
      return c.json(presentRegistryUsage(await findUsage(deps.db, orgId), limits), 200);
    },
  );
}

/** The wire form of what an organization takes in the registry; undefined: it has nothing. */
function presentRegistryUsage(
  usage: UsageRow | undefined,
  { sizeGiB, tags }: RegistryLimits,
): z.output<typeof registryUsageRecord> {
  return {
    stored_bytes: usage?.storedBytes ?? 0,
    tag_count: usage?.tagCount ?? 0,
    measured_at: usage?.measuredAt?.toISOString() ?? null,
    pushed_bytes: usage?.pushedBytes ?? 0,
    limit_bytes: sizeGiB === undefined ? null : sizeGiB * GIB,
    limit_tags: tags ?? null,
  };
}

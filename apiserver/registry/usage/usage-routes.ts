import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import type { Router } from "../../http/contract/router.ts";
import { requireRegistry } from "../backend/access.ts";
import { presentRegistryUsage } from "./present.ts";
import { registryUsageRecord } from "./schema.ts";
import { findUsage } from "./store.ts";

/** Adds the operation that returns what an organization stores in the registry. */
export function addUsageRoutes(router: Router, deps: Deps): void {
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
    async (c, { orgId }) => {
      const { limits } = requireRegistry(deps.config);
      return c.json(presentRegistryUsage(await findUsage(deps.db, orgId), limits), 200);
    },
  );
}

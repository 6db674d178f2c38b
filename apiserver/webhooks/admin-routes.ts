import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { presentAdminWebhook } from "./present.ts";
import { adminWebhookListQuery, adminWebhookPage } from "./schema.ts";
import { listWebhooks } from "./store.ts";

/** The webhooks of all organizations, for the platform's staff. */
export function addAdminWebhookRoutes(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/admin/webhooks",
      operationId: "listAdminWebhooks",
      tag: "Platform administration",
      summary: "List the webhooks of all organizations",
      description: "Of each endpoint only the host: a URL can carry a secret.",
      access: "platform-admin",
      query: adminWebhookListQuery,
      responses: { 200: { description: "A page, in the order of creation.", body: adminWebhookPage } },
    },
    async (c, { query: { org_id: orgId, ...query } }) => {
      const rows = await listWebhooks(deps.db, orgId, query);
      return c.json(toPage(rows, query.limit, presentAdminWebhook), 200);
    },
  );
}

import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { presentDelivery, presentDeliveryDetail } from "./delivery-present.ts";
import { deliveryDetailRecord, deliveryListQuery, deliveryPage } from "./delivery-schema.ts";
import { listAttempts, listDeliveries, requireDelivery } from "./delivery-store.ts";
import { requireWebhook } from "./store.ts";

const tag = "Webhooks";
const COLLECTION = "/api/v1/organizations/{orgID}/webhooks/{webhookID}/deliveries";

/** The log of deliveries. */
export function addDeliveryRoutes(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listWebhookDeliveries",
      tag,
      summary: "List the deliveries of a webhook",
      description: "Deliveries of the last 30 days.",
      access: "webhooks:read",
      query: deliveryListQuery,
      responses: { 200: { description: "A page, the newest first.", body: deliveryPage } },
    },
    async (c, { orgId, params: { webhookID: webhookId }, query }) => {
      await requireWebhook(deps.db, orgId, webhookId);
      const rows = await listDeliveries(deps.db, { orgId, webhookId }, query);
      return c.json(toPage(rows, query.limit, presentDelivery), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: `${COLLECTION}/{deliveryID}`,
      operationId: "getWebhookDelivery",
      tag,
      summary: "Get a delivery of a webhook",
      description: "The delivery with what was sent and what came back, for each attempt.",
      access: "webhooks:read",
      responses: { 200: { description: "The delivery.", body: deliveryDetailRecord } },
    },
    async (c, { orgId, params: { webhookID: webhookId, deliveryID }, membership: { rights } }) => {
      await requireWebhook(deps.db, orgId, webhookId);
      const { delivery, event } = await requireDelivery(deps.db, { orgId, webhookId }, deliveryID);
      const attempts = await listAttempts(deps.db, orgId, deliveryID);
      return c.json(presentDeliveryDetail(delivery, { body: event.body, attempts, rights }), 200);
    },
  );
}

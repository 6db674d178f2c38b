import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import type { Router } from "../http/contract/router.ts";
import { presentDelivery } from "./delivery-present.ts";
import { deliveryRecord, recoverBody, recoveryRecord } from "./delivery-schema.ts";
import { requireDelivery } from "./delivery-store.ts";
import { requireEnabled, requireKeys } from "./require.ts";
import { MAX_RECOVERED, recover, redeliver, sendTest } from "./resend.ts";
import { lockWebhook, requireWebhook } from "./store.ts";
import type { WebhookDeliveryRow } from "./table.ts";

const tag = "Webhooks";
const RECORD = "/api/v1/organizations/{orgID}/webhooks/{webhookID}";
const RETRY_AFTER_SECONDS = "1";

/** Deliveries at the request of a member. */
export function addResendRoutes(router: Router, deps: Deps): void {
  addTest(router, deps);
  addRedeliver(router, deps);
  addRecover(router, deps);
}

function addTest(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${RECORD}/test`,
      operationId: "testWebhook",
      tag,
      summary: "Send a test event to a webhook",
      description:
        "One attempt with an event of the type `webhook.test`; the delivery tells what came of it.",
      access: "webhooks:update",
      rateClass: "webhook_delivery",
      responses: {
        202: {
          description: "The delivery, which is pending.",
          body: deliveryRecord,
          headers: ["Location", "Retry-After"],
        },
      },
    },
    async (c, { orgId, origin, params: { webhookID }, transact }) => {
      requireKeys(deps);
      await requireWebhook(deps.db, orgId, webhookID);
      return transact(
        async (tx, { id }) => {
          const webhook = await lockWebhook(tx, orgId, webhookID);
          requireEnabled(webhook);
          return sendTest(tx, origin, webhook, { id, at: deps.now() });
        },
        (delivery) => c.json(presentDelivery(delivery), 202, headersOf(delivery)),
      );
    },
  );
}

function addRedeliver(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${RECORD}/deliveries/{deliveryID}/redeliver`,
      operationId: "redeliverWebhookEvent",
      tag,
      summary: "Send the event of a delivery once more",
      description:
        "Another delivery of the same event with a single attempt, whose failure does not count against the endpoint.",
      access: "webhooks:update",
      rateClass: "webhook_delivery",
      responses: {
        202: {
          description: "The new delivery, which is pending.",
          body: deliveryRecord,
          headers: ["Location", "Retry-After"],
        },
      },
    },
    async (c, { orgId, origin, params: { webhookID, deliveryID }, transact }) => {
      requireKeys(deps);
      await requireWebhook(deps.db, orgId, webhookID);
      await requireDelivery(deps.db, { orgId, webhookId: webhookID }, deliveryID);
      return transact(
        async (tx, { id }) => {
          const webhook = await lockWebhook(tx, orgId, webhookID);
          requireEnabled(webhook);
          return redeliver(tx, origin, webhook, { id, deliveryId: deliveryID });
        },
        (delivery) => c.json(presentDelivery(delivery), 202, headersOf(delivery)),
      );
    },
  );
}

function addRecover(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${RECORD}/recover`,
      operationId: "recoverWebhook",
      tag,
      summary: "Deliver the events that a webhook has missed",
      description: `Deliveries with all attempts for the events since then that match the subscription and were neither delivered nor are pending; the oldest first, at most ${MAX_RECOVERED} a request.`,
      access: "webhooks:update",
      rateClass: "webhook_delivery",
      body: recoverBody,
      responses: {
        202: {
          description: "The number of deliveries, which are pending.",
          body: recoveryRecord,
          headers: ["Location", "Retry-After"],
        },
      },
    },
    async (c, { orgId, origin, params: { webhookID }, readBody, transact }) => {
      requireKeys(deps);
      await requireWebhook(deps.db, orgId, webhookID);
      const { since } = await readBody();
      return transact(
        async (tx) => {
          const webhook = await lockWebhook(tx, orgId, webhookID);
          requireEnabled(webhook);
          return recover(tx, origin, webhook, { since, at: deps.now() });
        },
        ({ since: from, deliveries }) =>
          c.json({ since: from.toISOString(), deliveries }, 202, {
            Location: `/api/v1/organizations/${orgId}/webhooks/${webhookID}/deliveries`,
            "Retry-After": RETRY_AFTER_SECONDS,
          }),
      );
    },
  );
}

function headersOf({ orgId, webhookId, id }: WebhookDeliveryRow) {
  return {
    Location: `/api/v1/organizations/${orgId}/webhooks/${webhookId}/deliveries/${id}`,
    "Retry-After": RETRY_AFTER_SECONDS,
  };
}

import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { requireEnabled, requireKeys } from "./changes.ts";
import { presentDelivery, presentDeliveryDetail } from "./delivery-present.ts";
import {
  deliveryDetailRecord,
  deliveryListQuery,
  deliveryPage,
  deliveryRecord,
  recoverBody,
  recoveryRecord,
} from "./delivery-schema.ts";
import { listAttempts, listDeliveries, requireDelivery } from "./delivery-store.ts";
import { MAX_RECOVERED, queueRedelivery, queueTest, recover } from "./resend.ts";
import { lockWebhook, requireWebhook } from "./store.ts";
import type { WebhookDeliveryRow } from "./table.ts";

const tag = "Webhooks";
const COLLECTION = "/api/v1/organizations/{orgID}/webhooks/{webhookID}/deliveries";
const RECORD = "/api/v1/organizations/{orgID}/webhooks/{webhookID}";
const RETRY_AFTER_SECONDS = "1";

/** The log of deliveries. */
export function addDeliveryRoutes(router: Router<Deps>): void {
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
    async (c, { deps, orgId, params: { webhookID: webhookId }, query }) => {
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
    async (c, { deps, orgId, params: { webhookID: webhookId, deliveryID }, membership: { rights } }) => {
      await requireWebhook(deps.db, orgId, webhookId);
      const { delivery, event } = await requireDelivery(deps.db, { orgId, webhookId }, deliveryID);
      const attempts = await listAttempts(deps.db, orgId, deliveryID);
      return c.json(presentDeliveryDetail(delivery, { body: event.body, attempts, rights }), 200);
    },
  );
}

/** Deliveries at the request of a member. */
export function addResendRoutes(router: Router<Deps>): void {
  addTest(router);
  addRedeliver(router);
  addRecover(router);
}

function addTest(router: Router<Deps>): void {
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
    async (c, { deps, orgId, author, params: { webhookID }, transact }) => {
      requireKeys(deps);
      await requireWebhook(deps.db, orgId, webhookID);
      return transact(
        async (tx, { id }) => {
          const webhook = await lockWebhook(tx, orgId, webhookID);
          requireEnabled(webhook);
          return queueTest(tx, author, webhook, { id, at: deps.now() });
        },
        (delivery) => c.json(presentDelivery(delivery), 202, headersOf(delivery)),
      );
    },
  );
}

function addRedeliver(router: Router<Deps>): void {
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
    async (c, { deps, orgId, author, params: { webhookID, deliveryID }, transact }) => {
      requireKeys(deps);
      await requireWebhook(deps.db, orgId, webhookID);
      await requireDelivery(deps.db, { orgId, webhookId: webhookID }, deliveryID);
      return transact(
        async (tx, { id }) => {
          const webhook = await lockWebhook(tx, orgId, webhookID);
          requireEnabled(webhook);
          return queueRedelivery(tx, author, webhook, { id, deliveryId: deliveryID });
        },
        (delivery) => c.json(presentDelivery(delivery), 202, headersOf(delivery)),
      );
    },
  );
}

function addRecover(router: Router<Deps>): void {
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
    async (c, { deps, orgId, author, params: { webhookID }, readBody, transact }) => {
      requireKeys(deps);
      await requireWebhook(deps.db, orgId, webhookID);
      const { since } = await readBody();
      return transact(
        async (tx) => {
          const webhook = await lockWebhook(tx, orgId, webhookID);
          requireEnabled(webhook);
          return recover(tx, author, webhook, { since, at: deps.now() });
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

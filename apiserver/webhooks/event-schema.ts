import { z } from "@hono/zod-openapi";
import { invoiceGenerated, usageAlert } from "../billing/index.ts";
import {
  defineEvent,
  EVENT_TYPES,
  type EventDefinition,
  type EventType,
  type SentEventType,
} from "../events/event-types.ts";
import { idField, textField } from "../http/contract/fields.ts";
import { pageSchema } from "../http/contract/page.ts";
import {
  clusterCreated,
  clusterDegraded,
  clusterDeleted,
  clusterReady,
  clusterUpgraded,
  nodeReplaced,
} from "../resources/project/index.ts";
import { ticketUpdated } from "../tickets/index.ts";

/** What each type is and what its data looks like, as the slices that cause such events declare it. */
export const EVENT_CATALOG = {
  "cluster.created": clusterCreated,
  "cluster.ready": clusterReady,
  "cluster.upgraded": clusterUpgraded,
  "cluster.degraded": clusterDegraded,
  "cluster.deleted": clusterDeleted,
  "node.replaced": nodeReplaced,
  "usage.alert": usageAlert,
  "invoice.generated": invoiceGenerated,
  "ticket.updated": ticketUpdated,
} satisfies { [Type in EventType]: EventDefinition<Type> };

const testData = z
  .object({ webhook_id: idField("The webhook that is tested.") })
  .openapi("WebhookTestData", { description: "The data of a `webhook.test` event." });

/** Sent by the test operation alone; no webhook subscribes to it. */
export const webhookTest = defineEvent({
  type: "webhook.test",
  description: "A test of one webhook, sent at the request of its organization.",
  data: testData,
  example: { webhook_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e16" },
});

/** The schema of the whole body of a type. */
export function bodySchemaOf(type: SentEventType) {
  const { data, description } = type === "webhook.test" ? webhookTest : EVENT_CATALOG[type];
  return z
    .object({
      type: z.literal(type).openapi({ description: "The type of the event." }),
      timestamp: z.iso.datetime().openapi({ description: "When it happened." }),
      data,
    })
    .openapi({ description });
}

/** The example of the whole body of a type. */
export function bodyExampleOf(type: SentEventType) {
  const { example } = type === "webhook.test" ? webhookTest : EVENT_CATALOG[type];
  return { type, timestamp: "2026-11-21T09:00:00.000Z", data: example };
}

const MAX_FIELDS = 64;
const EXAMPLE_TYPE = "cluster.ready";

const eventTypeRecord = z
  .object({
    type: z.enum(EVENT_TYPES).openapi({ description: "The type, as a webhook subscribes to it." }),
    description: textField(256, "When such an event is sent."),
    body_schema: z.record(z.string(), z.unknown()).openapi({
      description: "The JSON Schema (draft 2020-12) of the body. Further fields may be added to it.",
      maxProperties: MAX_FIELDS,
    }),
    body_example: z.record(z.string(), z.unknown()).openapi({
      description: "A body of this type.",
      maxProperties: MAX_FIELDS,
    }),
  })
  .openapi("EventType", {
    example: {
      type: EXAMPLE_TYPE,
      description: EVENT_CATALOG[EXAMPLE_TYPE].description,
      body_schema: { type: "object" },
      body_example: bodyExampleOf(EXAMPLE_TYPE),
    },
  });

export const eventTypePage = pageSchema(eventTypeRecord, "EventTypePage");

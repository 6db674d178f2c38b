import { z } from "@hono/zod-openapi";
import {
  clusterEventData,
  invoiceGeneratedData,
  nodeReplacedData,
  testData,
  ticketUpdatedData,
  usageAlertData,
} from "./payloads.ts";

interface CatalogEntry<Data extends z.ZodType = z.ZodType> {
  description: string;
  data: Data;
  example: z.output<Data>;
}

function entry<Data extends z.ZodType>(one: CatalogEntry<Data>): CatalogEntry<Data> {
  return one;
}

const CLUSTER = {
  cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  name: "production",
  k8s_version: "1.34.2",
} as const;

/** The types of events to which a webhook can subscribe (spec 6.1). */
export const EVENT_CATALOG = {
  "cluster.created": entry({
    description: "A cluster was created, by REST or in the Kubernetes API.",
    data: clusterEventData,
    example: { ...CLUSTER, status: "provisioning" },
  }),
  "cluster.ready": entry({
    description: "A cluster is running for the first time.",
    data: clusterEventData,
    example: { ...CLUSTER, status: "running" },
  }),
  "cluster.upgraded": entry({
    description: "The control plane and all nodes of a cluster run another Kubernetes version.",
    data: clusterEventData,
    example: { ...CLUSTER, status: "running", k8s_version: "1.35.0", previous_version: "1.34.2" },
  }),
  "cluster.degraded": entry({
    description: "A cluster that was running has lost its API endpoint or nodes.",
    data: clusterEventData,
    example: { ...CLUSTER, status: "degraded", reason: "EndpointUnreachable" },
  }),
  "cluster.deleted": entry({
    description: "A cluster and all its machines are gone.",
    data: clusterEventData,
    example: { ...CLUSTER, status: "deleting" },
  }),
  "node.replaced": entry({
    description: "A node was replaced, because it was unhealthy or on request.",
    data: nodeReplacedData,
    example: {
      cluster_id: CLUSTER.cluster_id,
      node_pool_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
      old_node: "production-web-x7k2p",
      new_node: "production-web-9fq4z",
      reason: "Unhealthy",
    },
  }),
  "usage.alert": entry({
    description: "The spend of a month has reached a threshold of the organization's budget.",
    data: usageAlertData,
    example: { budget_eur: 500, spend_eur: 400.12, threshold_pct: 80, billing_month: "2026-11" },
  }),
  "invoice.generated": entry({
    description: "The invoice of a month was issued.",
    data: invoiceGeneratedData,
    example: {
      invoice_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e14",
      amount_cents: 48_012,
      currency: "EUR",
      period_start: "2026-10-01T00:00:00.000Z",
      period_end: "2026-11-01T00:00:00.000Z",
    },
  }),
  "ticket.updated": entry({
    description: "A support ticket was created, has a new message, or has another status.",
    data: ticketUpdatedData,
    example: {
      ticket_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e15",
      status: "open",
      severity: "high",
      category: "cluster",
      last_message_author_type: "provider",
      updated_at: "2026-11-21T09:00:00.000Z",
    },
  }),
} as const;

/** Sent by the test operation alone; no webhook subscribes to it. */
export const TEST_EVENT = {
  description: "A test of one webhook, sent at the request of its organization.",
  data: testData,
  example: { webhook_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e16" },
} satisfies CatalogEntry<typeof testData>;

export const EVENT_TYPES = [
  "cluster.created",
  "cluster.ready",
  "cluster.upgraded",
  "cluster.degraded",
  "cluster.deleted",
  "node.replaced",
  "usage.alert",
  "invoice.generated",
  "ticket.updated",
] as const satisfies (keyof typeof EVENT_CATALOG)[];
export type EventType = (typeof EVENT_TYPES)[number];

/** Every type that a body can have. */
export const SENT_EVENT_TYPES = [...EVENT_TYPES, "webhook.test"] as const;
export type SentEventType = (typeof SENT_EVENT_TYPES)[number];

/** What a webhook subscribes to; `*` stands for every type of the catalogue. */
export type SubscribedType = EventType | "*";

/** The data of an event, by its type. */
export type EventData<Type extends SentEventType> = Type extends EventType
  ? z.output<(typeof EVENT_CATALOG)[Type]["data"]>
  : z.output<typeof testData>;

/** The schema of the whole body of a type. */
export function bodySchemaOf(type: SentEventType) {
  const { data, description } = type === "webhook.test" ? TEST_EVENT : EVENT_CATALOG[type];
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
  const { example } = type === "webhook.test" ? TEST_EVENT : EVENT_CATALOG[type];
  return { type, timestamp: "2026-11-21T09:00:00.000Z", data: example };
}

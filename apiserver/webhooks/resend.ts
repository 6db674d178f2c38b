import { createId } from "../../shared/program/id.ts";
import type { Queryable } from "../db/client.ts";
import { newEvent, toEventRow } from "../events/emit.ts";
import type { Author } from "../http/authentication/principal.ts";
import { recordWebhookAudit } from "./changes.ts";
import { makeQueuesDue } from "./deliverer/queue-store.ts";
import { MAX_ATTEMPTS } from "./deliverer/schedule.ts";
import {
  disableNestedLoops,
  insertDeliveries,
  insertEvent,
  listMissedEvents,
  requireDelivery,
} from "./delivery-store.ts";
import { webhookTest } from "./event-schema.ts";
import type { Webhook } from "./store.ts";
import type { WebhookDeliveryRow } from "./table.ts";

const MAX_AGE_MS = 30 * 24 * 60 * 60_000;
/** The limit of one recovery; it bounds the transaction, and another recovery takes the rest. */
export const MAX_RECOVERED = 10_000;
const BATCH_SIZE = 1000;

/** Queues a test delivery with a single attempt; the webhook's row must be locked. `id` is that of the delivery. */
export async function queueTest(
  tx: Queryable,
  author: Author,
  webhook: Webhook,
  { id, at }: { id: string; at: Date },
): Promise<WebhookDeliveryRow> {
  const { id: webhookId, orgId } = webhook;
  const eventId = createId();
  const event = newEvent(webhookTest, { orgId, occurredAt: at, data: { webhook_id: webhookId } });
  await insertEvent(tx, toEventRow({ id: eventId, ...event }));
  const delivery = await addDelivery(tx, webhook, {
    id,
    eventId,
    eventType: event.type,
    trigger: "test",
  });
  await recordWebhookAudit(tx, author, "webhook.test", webhook, { after: { delivery_id: id } });
  return delivery;
}

/** Queues the event of a delivery once more, with a single attempt; the webhook's row must be locked. Throws 404. */
export async function queueRedelivery(
  tx: Queryable,
  author: Author,
  webhook: Webhook,
  { id, deliveryId }: { id: string; deliveryId: string },
): Promise<WebhookDeliveryRow> {
  const { event } = await requireDelivery(tx, { orgId: webhook.orgId, webhookId: webhook.id }, deliveryId);
  const delivery = await addDelivery(tx, webhook, {
    id,
    eventId: event.id,
    eventType: event.type,
    trigger: "redelivery",
  });
  const after = { delivery_id: id, redelivered_id: deliveryId, event_type: event.type };
  await recordWebhookAudit(tx, author, "webhook.redeliver", webhook, { after });
  return delivery;
}

export interface Recovery {
  /** The start of the time range whose events were checked. */
  since: Date;
  /** How many deliveries were made. */
  deliveries: number;
}

/**
 * Queues a delivery with all attempts for each event since then whose type the webhook subscribes to and that was neither
 * delivered to it nor is pending: at most 30 days back, not before its creation, the oldest first and at most MAX_RECOVERED.
 * The webhook's row must be locked.
 */
export async function recover(
  tx: Queryable,
  author: Author,
  webhook: Webhook,
  { since: asked, at }: { since: Date; at: Date },
): Promise<Recovery> {
  const { id: webhookId, orgId, events, createdAt } = webhook;
  const since = new Date(Math.max(asked.getTime(), createdAt.getTime(), at.getTime() - MAX_AGE_MS));
  await disableNestedLoops(tx);
  const missed = await listMissedEvents(tx, { orgId, webhookId }, { since, events, limit: MAX_RECOVERED });
  const deliveries = missed.map(({ id: eventId, type: eventType }) => ({
    id: createId(),
    orgId,
    webhookId,
    eventId,
    eventType,
    trigger: "recovery" as const,
    maxAttempts: MAX_ATTEMPTS,
  }));
  for (let start = 0; start < deliveries.length; start += BATCH_SIZE)
    await insertDeliveries(tx, deliveries.slice(start, start + BATCH_SIZE));
  if (deliveries.length > 0) await makeQueuesDue(tx, [webhookId]);
  const recovery = { since, deliveries: deliveries.length };
  const after = { since: since.toISOString(), deliveries: deliveries.length };
  await recordWebhookAudit(tx, author, "webhook.recover", webhook, { after });
  return recovery;
}

async function addDelivery(
  tx: Queryable,
  { id: webhookId, orgId }: Webhook,
  values: Pick<WebhookDeliveryRow, "id" | "eventId" | "eventType" | "trigger">,
): Promise<WebhookDeliveryRow> {
  const [delivery] = await insertDeliveries(tx, [{ ...values, orgId, webhookId, maxAttempts: 1 }]);
  if (delivery === undefined) throw new Error("an insert returned no row");
  await makeQueuesDue(tx, [webhookId]);
  return delivery;
}

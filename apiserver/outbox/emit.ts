import { and, arrayOverlaps, eq, inArray, isNull } from "drizzle-orm";
import { createId } from "../../shared/program/id.ts";
import { chunk } from "../db/chunk.ts";
import type { Queryable } from "../db/client.ts";
import type { EventData, EventType, SentEventType } from "./catalog.ts";
import { wakeQueues } from "./queues.ts";
import { webhookDeliveries, webhookEvents, webhooks } from "./table.ts";

/** Attempts of a delivery: at once, and after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h. */
export const MAX_ATTEMPTS = 8;

/** An event as the slice that causes it describes it. */
export type NewWebhookEvent<Type extends SentEventType = EventType> = {
  [One in Type]: { orgId: string; type: One; occurredAt: Date; data: EventData<One> };
}[Type];

/**
 * Writes events, and one delivery of each for every enabled webhook of its organization that subscribes to its type. They
 * are sent after the commit, at least once. Call it in the transaction of the state that causes the events, once and as
 * late as possible: it locks the queue of each of those webhooks until the commit.
 */
export async function emitEvents(tx: Queryable, events: readonly NewWebhookEvent[]): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map((event) => ({ id: createId(), ...event }));
  for (const part of chunk(rows.map(toEventRow))) await tx.insert(webhookEvents).values(part);
  const subscribers = Map.groupBy(await findSubscribers(tx, rows), ({ orgId }) => orgId);
  const deliveries = rows.flatMap(({ id: eventId, orgId, type }) =>
    (subscribers.get(orgId) ?? [])
      .filter((webhook) => isSubscribed(webhook.events, type))
      .map(({ id: webhookId }) => ({
        id: createId(),
        orgId,
        webhookId,
        eventId,
        eventType: type,
        trigger: "event" as const,
        maxAttempts: MAX_ATTEMPTS,
      })),
  );
  for (const part of chunk(deliveries)) await tx.insert(webhookDeliveries).values(part);
  await wakeQueues(
    tx,
    deliveries.map(({ webhookId }) => webhookId),
  );
}

/** The row of an event: its body is the exact text that is signed and sent. */
export function toEventRow({
  id,
  orgId,
  type,
  occurredAt,
  data,
}: NewWebhookEvent<SentEventType> & { id: string }): typeof webhookEvents.$inferInsert {
  const body = JSON.stringify({ type, timestamp: occurredAt.toISOString(), data });
  return { id, orgId, type, body, occurredAt };
}

async function findSubscribers(tx: Queryable, events: readonly { orgId: string; type: EventType }[]) {
  const orgIds = [...new Set(events.map(({ orgId }) => orgId))];
  const types = [...new Set(events.map(({ type }) => type)), "*" as const];
  return tx
    .select({ id: webhooks.id, orgId: webhooks.orgId, events: webhooks.events })
    .from(webhooks)
    .where(
      and(
        inArray(webhooks.orgId, orgIds),
        eq(webhooks.enabled, true),
        isNull(webhooks.deletedAt),
        arrayOverlaps(webhooks.events, types),
      ),
    );
}

function isSubscribed(subscriptions: readonly string[], type: EventType): boolean {
  return subscriptions.includes("*") || subscriptions.includes(type);
}

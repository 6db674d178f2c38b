import { and, arrayOverlaps, eq, inArray, isNull, sql } from "drizzle-orm";
import { createId } from "../../shared/program/id.ts";
import { chunk } from "../db/chunk.ts";
import type { Queryable } from "../db/client.ts";
import type { EventData, EventType, SentEventType } from "./catalog.ts";
import { DELIVERIES_CHANNEL } from "./queues.ts";
import { webhookEvents, webhooks } from "./table.ts";

/** An event as the slice that causes it describes it. */
export type NewWebhookEvent<Type extends SentEventType = EventType> = {
  [One in Type]: { orgId: string; type: One; occurredAt: Date; data: EventData<One> };
}[Type];

/**
 * Writes events, each with the ids of the enabled webhooks of its organization that subscribe to its type, as this
 * transaction sees them. After the commit each of them gets a delivery (`fanOutEvents`), which is sent at least once. Call it
 * in the transaction of the state that causes the events; it locks nothing.
 */
export async function emitEvents(tx: Queryable, events: readonly NewWebhookEvent[]): Promise<void> {
  if (events.length === 0) return;
  const subscribers = Map.groupBy(await findSubscribers(tx, events), ({ orgId }) => orgId);
  const rows = events.map((event) => {
    const subscribed = (subscribers.get(event.orgId) ?? []).filter((webhook) =>
      isSubscribed(webhook.events, event.type),
    );
    const pendingWebhookIds = subscribed.length === 0 ? null : subscribed.map(({ id }) => id);
    return { ...toEventRow({ id: createId(), ...event }), pendingWebhookIds };
  });
  for (const part of chunk(rows)) await tx.insert(webhookEvents).values(part);
  if (rows.some(({ pendingWebhookIds }) => pendingWebhookIds !== null))
    await tx.execute(sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`);
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

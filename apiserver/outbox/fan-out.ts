import { and, asc, eq, isNotNull, sql } from "drizzle-orm";
import { createId } from "../../shared/program/id.ts";
import { chunk } from "../db/chunk.ts";
import type { Database, Queryable } from "../db/client.ts";
import { wakeQueues } from "./queues.ts";
import { type WebhookEventRow, webhookDeliveries, webhookEvents } from "./table.ts";

/** Attempts of a delivery: at once, and after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h. */
export const MAX_ATTEMPTS = 8;

/** Events of one transaction: it is short, and as many replicas as there are work side by side. */
const BATCH_SIZE = 500;

/** The part of an event that its deliveries are made of. */
type PendingEvent = Pick<WebhookEventRow, "id" | "orgId" | "type" | "pendingWebhookIds">;

/**
 * Makes one delivery of each event for every webhook that it is pending for, but not for a webhook that was deleted since;
 * that of one that was disabled since waits until it is enabled. Takes at most 500 events, the oldest first, or only the one
 * with this id; returns how many. Safe in any number of processes and after a crash: there is one delivery per event and
 * webhook. Rejects when the queue of a webhook is locked for longer than a second.
 */
export async function fanOutEvents(db: Database, onlyId?: string): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`set local lock_timeout = '1s'`);
    const events = await lockPendingEvents(tx, onlyId);
    if (events.length === 0) return 0;
    const existing = await findExisting(tx, [...new Set(events.flatMap(webhookIdsOf))]);
    const deliveries = events.flatMap((event) =>
      webhookIdsOf(event)
        .filter((webhookId) => existing.has(webhookId))
        .map((webhookId) => ({
          id: createId(),
          orgId: event.orgId,
          webhookId,
          eventId: event.id,
          eventType: event.type,
          trigger: "event" as const,
          maxAttempts: MAX_ATTEMPTS,
        })),
    );
    for (const part of chunk(deliveries))
      await tx.insert(webhookDeliveries).values(part).onConflictDoNothing();
    await clearPending(tx, events);
    await wakeQueues(
      tx,
      deliveries.map(({ webhookId }) => webhookId),
    );
    return events.length;
  });
}

function webhookIdsOf({ pendingWebhookIds }: PendingEvent): readonly string[] {
  return pendingWebhookIds ?? [];
}

/**
 * The ids of events whose deliveries are to be made, the oldest first, at most `limit`. Ordered, so that Postgres reads the
 * partial index: without statistics of the column it would read the whole table (40,000 rows to find none).
 */
export async function listPendingEventIds(db: Queryable, limit: number = BATCH_SIZE): Promise<string[]> {
  const rows = await db
    .select({ id: webhookEvents.id })
    .from(webhookEvents)
    .where(isNotNull(webhookEvents.pendingWebhookIds))
    .orderBy(asc(webhookEvents.id))
    .limit(limit);
  return rows.map(({ id }) => id);
}

async function lockPendingEvents(tx: Queryable, onlyId: string | undefined): Promise<PendingEvent[]> {
  return tx
    .select({
      id: webhookEvents.id,
      orgId: webhookEvents.orgId,
      type: webhookEvents.type,
      pendingWebhookIds: webhookEvents.pendingWebhookIds,
    })
    .from(webhookEvents)
    .where(
      and(
        isNotNull(webhookEvents.pendingWebhookIds),
        onlyId === undefined ? undefined : eq(webhookEvents.id, onlyId),
      ),
    )
    .orderBy(asc(webhookEvents.id))
    .limit(BATCH_SIZE)
    .for("no key update", { skipLocked: true });
}

async function findExisting(tx: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await tx.execute<{ id: string }>(sql`
    select id from webhooks
    where id in (select value::uuid from json_array_elements_text(${JSON.stringify(ids)}::text::json))
      and (deleted_at is null or deleted_at > now())`);
  return new Set(rows.map(({ id }) => id));
}

async function clearPending(tx: Queryable, events: readonly PendingEvent[]): Promise<void> {
  const ids = JSON.stringify(events.map(({ id }) => id));
  await tx.execute(sql`
    update webhook_events set pending_webhook_ids = null
    where id in (select value::uuid from json_array_elements_text(${ids}::text::json))`);
}

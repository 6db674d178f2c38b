import { and, asc, eq, isNotNull, sql } from "drizzle-orm";
import { createId } from "../../../shared/program/id.ts";
import type { Database, Queryable } from "../../db/client.ts";
import { type WebhookEventRow, webhookEvents } from "../../events/table.ts";
import { makeQueuesDue } from "./queue-store.ts";
import { MAX_ATTEMPTS } from "./schedule.ts";

/** Events of one transaction, so that it is short. Every replica may run one at the same time. */
const BATCH_SIZE = 500;

/** The part of an event that its deliveries are made of. */
type EventToFanOut = Pick<WebhookEventRow, "id" | "pendingWebhookIds">;

/**
 * Makes one delivery of each event for every webhook that it is pending for, but not for a webhook that was deleted
 * since; that of one that was disabled since waits for 72 h to be enabled, then it is cancelled. Takes at most 500 events, the
 * oldest first, or only the one with this id; returns how many. Safe in any number of processes and after a crash: there is one delivery
 * per event and webhook. Rejects when the queue of a webhook is locked for longer than a second.
 */
export async function fanOutEvents(db: Database, onlyId?: string): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`set local lock_timeout = '1s'`);
    const events = await lockEventsToFanOut(tx, onlyId);
    if (events.length === 0) return 0;
    await makeQueuesDue(tx, await insertDeliveries(tx, events));
    await markFannedOut(tx, events);
    return events.length;
  });
}

/**
 * Events whose deliveries are to be made, the oldest first, at most `limit`. Ordered, so that Postgres reads
 * the partial index: without statistics of the column it would read the whole table (40,000 rows to find none).
 */
export function listEventsToFanOut(db: Queryable, limit: number = BATCH_SIZE): Promise<EventToFanOut[]> {
  return db
    .select({ id: webhookEvents.id, pendingWebhookIds: webhookEvents.pendingWebhookIds })
    .from(webhookEvents)
    .where(isNotNull(webhookEvents.pendingWebhookIds))
    .orderBy(asc(webhookEvents.id))
    .limit(limit);
}

async function lockEventsToFanOut(tx: Queryable, onlyId: string | undefined): Promise<EventToFanOut[]> {
  return tx
    .select({ id: webhookEvents.id, pendingWebhookIds: webhookEvents.pendingWebhookIds })
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

/**
 * Returns the webhook of each delivery. One statement from JSON: with a parameter for each column of each row, building
 * and reading the statement took longer than Postgres took to insert them.
 */
async function insertDeliveries(tx: Queryable, events: readonly EventToFanOut[]): Promise<string[]> {
  const input = events.flatMap(({ id, pendingWebhookIds }) =>
    (pendingWebhookIds ?? []).map((webhookId) => ({
      id: createId(),
      event_id: id,
      webhook_id: webhookId,
    })),
  );
  const rows = await tx.execute<{ webhookId: string }>(sql`
    insert into webhook_deliveries (id, org_id, webhook_id, event_id, event_type, trigger, max_attempts)
    select input.id, event.org_id, webhook.id, event.id, event.type, 'event', ${MAX_ATTEMPTS}
    from json_to_recordset(${JSON.stringify(input)}::text::json)
      as input(id uuid, event_id uuid, webhook_id uuid)
    join webhook_events event on event.id = input.event_id
    join webhooks webhook on webhook.id = input.webhook_id and webhook.org_id = event.org_id
      and (webhook.deleted_at is null or webhook.deleted_at > now())
    on conflict do nothing
    returning webhook_id as "webhookId"`);
  return rows.map(({ webhookId }) => webhookId);
}

async function markFannedOut(tx: Queryable, events: readonly EventToFanOut[]): Promise<void> {
  const ids = JSON.stringify(events.map(({ id }) => id));
  await tx.execute(sql`
    update webhook_events set pending_webhook_ids = null
    where id in (select value::uuid from json_array_elements_text(${ids}::text::json))`);
}

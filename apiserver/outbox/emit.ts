import { sql } from "drizzle-orm";
import { createId } from "../../shared/program/id.ts";
import type { Queryable } from "../db/client.ts";
import type { EventData, EventType, SentEventType } from "./catalog.ts";
import { DELIVERIES_CHANNEL } from "./queues.ts";
import type { webhookEvents } from "./table.ts";

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
  const input = events.map((event) => {
    const { id, orgId, type, body, occurredAt } = toEventRow({ id: createId(), ...event });
    return { id, org_id: orgId, type, body, occurred_at: occurredAt };
  });
  const rows = await tx.execute<{ isPending: boolean }>(sql`
    insert into webhook_events (id, org_id, type, body, occurred_at, pending_webhook_ids)
    select id, org_id, type, body, occurred_at, (
      select array_agg(webhook.id order by webhook.id) from webhooks webhook
      where webhook.org_id = input.org_id and webhook.enabled and webhook.deleted_at is null
        and webhook.events && array[input.type, '*']
    )
    from json_to_recordset(${JSON.stringify(input)}::text::json)
      as input(id uuid, org_id uuid, type text, body text, occurred_at timestamptz)
    returning pending_webhook_ids is not null as "isPending"`);
  if (rows.some(({ isPending }) => isPending))
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

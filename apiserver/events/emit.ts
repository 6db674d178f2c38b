import type { z } from "@hono/zod-openapi";
import { sql } from "drizzle-orm";
import { createId } from "../../shared/program/id.ts";
import type { Queryable } from "../db/client.ts";
import type { EventDefinition, SentEventType } from "./event-types.ts";
import type { webhookEvents } from "./table.ts";

/** The NOTIFY channel that notifies deliverers when there is an event to fan out or a delivery is due. */
export const DELIVERIES_CHANNEL = "webhook_deliveries";

/** An event as the slice that causes it describes it. */
export interface NewWebhookEvent {
  orgId: string;
  type: SentEventType;
  occurredAt: Date;
  data: unknown;
}

/** An event whose data is of its type's schema. */
export function newEvent<Data extends z.ZodType>(
  { type }: EventDefinition<SentEventType, Data>,
  event: { orgId: string; occurredAt: Date; data: z.output<Data> },
): NewWebhookEvent {
  return { type, ...event };
}

/**
 * Writes events in the transaction of the state that causes them, and locks nothing. Each lists the enabled webhooks that subscribe
 * to its type in its organization (`subscribed_webhooks`, a SQL function, migration 0014); after the commit the deliverer
 * (`runFanOut`) makes a delivery for each of these that is not deleted by then. It is sent at least once, unless it is cancelled
 * before, because its webhook is deleted or stays disabled.
 */
export async function emitWebhookEvents(tx: Queryable, events: readonly NewWebhookEvent[]): Promise<void> {
  if (events.length === 0) return;
  const input = events.map((event) => {
    const { id, orgId, type, body, occurredAt } = toEventRow({ id: createId(), ...event });
    return { id, org_id: orgId, type, body, occurred_at: occurredAt };
  });
  const rows = await tx.execute<{ hasSubscribers: boolean }>(sql`
    insert into webhook_events (id, org_id, type, body, occurred_at, pending_webhook_ids)
    select id, org_id, type, body, occurred_at, subscribed_webhooks(org_id, type)
    from json_to_recordset(${JSON.stringify(input)}::text::json)
      as input(id uuid, org_id uuid, type text, body text, occurred_at timestamptz)
    returning pending_webhook_ids is not null as "hasSubscribers"`);
  if (rows.some(({ hasSubscribers }) => hasSubscribers))
    await tx.execute(sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`);
}

/** The row of an event: its body is the exact text that is signed and sent. */
export function toEventRow({
  id,
  orgId,
  type,
  occurredAt,
  data,
}: NewWebhookEvent & { id: string }): typeof webhookEvents.$inferInsert {
  const body = JSON.stringify({ type, timestamp: occurredAt.toISOString(), data });
  return { id, orgId, type, body, occurredAt };
}

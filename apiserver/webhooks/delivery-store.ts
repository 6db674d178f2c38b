import { and, asc, desc, eq, exists, gte, inArray, lt, not, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { EVENT_TYPES, type SentEventType, type SubscribedType } from "../events/event-types.ts";
import { type WebhookEventRow, webhookEvents } from "../events/table.ts";
import type { PageRequest } from "../http/contract/page.ts";
import { notFound } from "../http/errors.ts";
import {
  type WebhookAttemptRow,
  type WebhookDeliveryRow,
  webhookAttempts,
  webhookDeliveries,
} from "./table.ts";

/** The deliveries of which webhook. */
interface OfWebhook {
  orgId: string;
  webhookId: string;
}

export interface DeliveryFilter {
  status?: WebhookDeliveryRow["status"] | undefined;
  event_type?: SentEventType | undefined;
}

/** Deliveries of a webhook, the newest first; one row more than `limit`. */
export async function listDeliveries(
  db: Queryable,
  { orgId, webhookId }: OfWebhook,
  { status, event_type: eventType, cursor, limit }: DeliveryFilter & PageRequest,
): Promise<WebhookDeliveryRow[]> {
  return db
    .select()
    .from(webhookDeliveries)
    .where(
      and(
        eq(webhookDeliveries.orgId, orgId),
        eq(webhookDeliveries.webhookId, webhookId),
        cursor === undefined ? undefined : lt(webhookDeliveries.id, cursor),
        status === undefined ? undefined : eq(webhookDeliveries.status, status),
        eventType === undefined ? undefined : eq(webhookDeliveries.eventType, eventType),
      ),
    )
    .orderBy(desc(webhookDeliveries.id))
    .limit(limit + 1);
}

/** One delivery with its event. Throws 404. */
export async function requireDelivery(
  db: Queryable,
  { orgId, webhookId }: OfWebhook,
  id: string,
): Promise<{ delivery: WebhookDeliveryRow; event: WebhookEventRow }> {
  const [row] = await db
    .select({ delivery: webhookDeliveries, event: webhookEvents })
    .from(webhookDeliveries)
    .innerJoin(webhookEvents, eq(webhookEvents.id, webhookDeliveries.eventId))
    .where(
      and(
        eq(webhookDeliveries.orgId, orgId),
        eq(webhookDeliveries.webhookId, webhookId),
        eq(webhookDeliveries.id, id),
      ),
    );
  if (row === undefined) throw notFound("delivery");
  return row;
}

/** The attempts of a delivery, the first one first. */
export async function listAttempts(
  db: Queryable,
  orgId: string,
  deliveryId: string,
): Promise<WebhookAttemptRow[]> {
  return db
    .select()
    .from(webhookAttempts)
    .where(and(eq(webhookAttempts.orgId, orgId), eq(webhookAttempts.deliveryId, deliveryId)))
    .orderBy(asc(webhookAttempts.number));
}

/**
 * Keeps Postgres from nested loops until the transaction ends. Right after many deliveries were added its statistics
 * know none of them, and a nested loop over 10,000 events and as many deliveries takes over 10 s, a hash join 0.03 s.
 */
export async function disableNestedLoops(tx: Queryable): Promise<void> {
  await tx.execute(sql`set local enable_nestloop = off`);
}

/**
 * Events since then to which a webhook subscribes and that were neither delivered to it nor wait to be; the
 * oldest first, at most `limit`.
 */
export async function listMissedEvents(
  db: Queryable,
  { orgId, webhookId }: OfWebhook,
  { since, events, limit }: { since: Date; events: readonly SubscribedType[]; limit: number },
): Promise<Pick<WebhookEventRow, "id" | "type">[]> {
  const types = EVENT_TYPES.filter((type) => events.includes("*") || events.includes(type));
  const deliveredOrPending = db
    .select({ id: webhookDeliveries.id })
    .from(webhookDeliveries)
    .where(
      and(
        eq(webhookDeliveries.orgId, orgId),
        eq(webhookDeliveries.webhookId, webhookId),
        eq(webhookDeliveries.eventId, webhookEvents.id),
        inArray(webhookDeliveries.status, ["delivered", "pending"]),
      ),
    );
  return db
    .select({ id: webhookEvents.id, type: webhookEvents.type })
    .from(webhookEvents)
    .where(
      and(
        eq(webhookEvents.orgId, orgId),
        gte(webhookEvents.createdAt, since),
        inArray(webhookEvents.type, types),
        not(exists(deliveredOrPending)),
        sql`${webhookId} <> all (coalesce(${webhookEvents.pendingWebhookIds}, '{}'))`,
      ),
    )
    .orderBy(asc(webhookEvents.createdAt), asc(webhookEvents.id))
    .limit(limit);
}

/** Adds the event of a test. */
export async function insertEvent(tx: Queryable, values: typeof webhookEvents.$inferInsert): Promise<void> {
  await tx.insert(webhookEvents).values(values);
}

/** Adds deliveries; the caller must call `makeQueuesDue` for their webhook. */
export async function insertDeliveries(
  tx: Queryable,
  values: (typeof webhookDeliveries.$inferInsert)[],
): Promise<WebhookDeliveryRow[]> {
  return tx.insert(webhookDeliveries).values(values).returning();
}

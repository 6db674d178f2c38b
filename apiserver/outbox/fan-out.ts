import { and, asc, gt, inArray, isNotNull, isNull, or, sql } from "drizzle-orm";
import { createId } from "../../shared/program/id.ts";
import { chunk } from "../db/chunk.ts";
import type { Database, Queryable } from "../db/client.ts";
import { wakeQueues } from "./queues.ts";
import { type WebhookEventRow, webhookDeliveries, webhookEvents, webhooks } from "./table.ts";

/** Attempts of a delivery: at once, and after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h. */
export const MAX_ATTEMPTS = 8;

/** Events of one transaction: it is short, and as many replicas as there are work side by side. */
const BATCH_SIZE = 500;

/** The part of an event that its deliveries are made of. */
type AwaitedEvent = Pick<WebhookEventRow, "id" | "orgId" | "type" | "awaitedBy">;

/**
 * Makes one delivery of each event for every webhook that waits for it, but not for a webhook that was deleted since; that
 * of one that was disabled since waits until it is enabled. Takes up to 500 events, the oldest first; returns whether there
 * may be more. Safe in any number of processes and after a crash: an event has one delivery a webhook.
 */
export async function fanOutEvents(db: Database): Promise<boolean> {
  if (!(await isAnyAwaited(db))) return false;
  return db.transaction(async (tx) => {
    const events = await lockAwaitedEvents(tx);
    if (events.length === 0) return false;
    const existing = await findExisting(tx, [...new Set(events.flatMap(({ awaitedBy }) => awaitedBy ?? []))]);
    const deliveries = events.flatMap(({ id: eventId, orgId, type, awaitedBy }) =>
      (awaitedBy ?? [])
        .filter((webhookId) => existing.has(webhookId))
        .map((webhookId) => ({
          id: createId(),
          orgId,
          webhookId,
          eventId,
          eventType: type,
          trigger: "event" as const,
          maxAttempts: MAX_ATTEMPTS,
        })),
    );
    for (const part of chunk(deliveries))
      await tx.insert(webhookDeliveries).values(part).onConflictDoNothing();
    await endWait(tx, events);
    await wakeQueues(
      tx,
      deliveries.map(({ webhookId }) => webhookId),
    );
    return events.length === BATCH_SIZE;
  });
}

/** Outside a transaction, which a deliverer without such events would open many times a second. */
async function isAnyAwaited(db: Queryable): Promise<boolean> {
  const rows = await db
    .select({ id: webhookEvents.id })
    .from(webhookEvents)
    .where(isNotNull(webhookEvents.awaitedBy))
    .limit(1);
  return rows.length > 0;
}

async function lockAwaitedEvents(tx: Queryable): Promise<AwaitedEvent[]> {
  return tx
    .select({
      id: webhookEvents.id,
      orgId: webhookEvents.orgId,
      type: webhookEvents.type,
      awaitedBy: webhookEvents.awaitedBy,
    })
    .from(webhookEvents)
    .where(isNotNull(webhookEvents.awaitedBy))
    .orderBy(asc(webhookEvents.id))
    .limit(BATCH_SIZE)
    .for("update", { skipLocked: true });
}

async function findExisting(tx: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await tx
    .select({ id: webhooks.id })
    .from(webhooks)
    .where(
      and(inArray(webhooks.id, [...ids]), or(isNull(webhooks.deletedAt), gt(webhooks.deletedAt, sql`now()`))),
    );
  return new Set(rows.map(({ id }) => id));
}

async function endWait(tx: Queryable, events: readonly AwaitedEvent[]): Promise<void> {
  const ids = events.map(({ id }) => id);
  await tx.update(webhookEvents).set({ awaitedBy: null }).where(inArray(webhookEvents.id, ids));
}

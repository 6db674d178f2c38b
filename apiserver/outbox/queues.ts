import { sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";

/** The NOTIFY channel that wakes deliverers when there is an event to fan out or a delivery is due. */
export const DELIVERIES_CHANNEL = "webhook_deliveries";

/**
 * Makes the queues of these webhooks due, but not before the end of a pause, and notifies the deliverers at the commit.
 * A row that is due already is locked too: a concurrent claim would otherwise miss the deliveries of this transaction.
 * Queues are locked in the order of their ids.
 */
export async function wakeQueues(tx: Queryable, webhookIds: readonly string[]): Promise<void> {
  if (webhookIds.length === 0) return;
  await tx.execute(sql`with locked as (
      select webhook_id from webhook_queues
      where webhook_id in (select value::uuid from json_array_elements_text(${JSON.stringify([...new Set(webhookIds)])}::text::json))
      order by webhook_id for update
    )
    update webhook_queues queue
    set due_at = least(queue.due_at, greatest(queue.paused_until, now()))
    from locked where queue.webhook_id = locked.webhook_id`);
  await tx.execute(sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`);
}

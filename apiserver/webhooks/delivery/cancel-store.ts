import { type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { BATCH_SIZE, repeatInBatches } from "./retention-store.ts";

const MAX_HELD_HOURS = 72;

/** Cancels what is pending for deleted webhooks. */
export function cancelForDeleted(db: Queryable, signal: AbortSignal): Promise<void> {
  return cancelWhere(db, signal, sql`webhook.deleted_at <= now()`);
}

/** Cancels what is pending for disabled webhooks and older than 72 hours. */
export function cancelHeldTooLong(db: Queryable, signal: AbortSignal): Promise<void> {
  const isOld = sql`delivery.created_at < now() - make_interval(hours => ${MAX_HELD_HOURS})`;
  return cancelWhere(db, signal, sql`not webhook.enabled and ${isOld}`);
}

function cancelWhere(db: Queryable, signal: AbortSignal, condition: SQL): Promise<void> {
  return repeatInBatches(signal, () =>
    db.execute(sql`
      update webhook_deliveries set status = 'cancelled', next_attempt_at = null, completed_at = now()
      where id = any (array(
        select delivery.id from webhooks webhook
        join webhook_deliveries delivery on delivery.webhook_id = webhook.id and delivery.status = 'pending'
        where ${condition} limit ${BATCH_SIZE} for update of delivery skip locked
      )) returning id`),
  );
}

import { type SQL, sql } from "drizzle-orm";
import { NIL_ID } from "../../../shared/program/id.ts";
import type { Database, Queryable } from "../../db/client.ts";
import { firstIdSince } from "../../db/columns.ts";
import { repeatBatches } from "../../work/loop.ts";

/** Rows changed by one statement, so that no lock is held for long. */
export const BATCH_SIZE = 500;

const RETENTION_DAYS = 30;

/** Deletes deliveries, with their attempts, 30 days after they were created. */
export async function purgeDeliveries(db: Queryable, signal: AbortSignal): Promise<void> {
  await repeatInBatches(signal, () =>
    db.execute(sql`
      with deleted as (
        delete from webhook_deliveries where id = any (array(
          select id from webhook_deliveries where id < ${firstIdSince(RETENTION_DAYS)}
          order by id limit ${BATCH_SIZE} for update skip locked
        )) returning id
      ), attempts as (
        delete from webhook_attempts where delivery_id = any (array(select id from deleted))
      )
      select id from deleted`),
  );
  // That statement does not see an attempt that is committed while it deletes the delivery.
  await repeatInBatches(signal, () =>
    db.execute(sql`
      delete from webhook_attempts where delivery_id = any (array(
        select delivery_id from webhook_attempts attempt where delivery_id < ${firstIdSince(RETENTION_DAYS)}
          and not exists (select 1 from webhook_deliveries delivery where delivery.id = attempt.delivery_id)
        order by delivery_id limit ${BATCH_SIZE}
      )) returning delivery_id`),
  );
}

/** The newest deliveries of a webhook, whose responses are kept: up to 64 KiB of each attempt. */
const DELIVERIES_WITH_RESPONSES = 2000;

/** Webhooks of which one statement finds that delivery: it reads the newest 2,000 of each. */
const WEBHOOKS_AT_ONCE = 50;

/**
 * Removes the responses, headers and body, from the attempts of all but the newest 2,000 deliveries of each webhook. A run goes
 * on where the last one has ended, so that it reads what is new; of what is pending there, a later attempt keeps nothing.
 */
export async function purgeResponses(db: Database, signal: AbortSignal): Promise<void> {
  let after = NIL_ID;
  await repeatBatches(WEBHOOKS_AT_ONCE, signal, async () => {
    const queues = await db.execute<{ webhookId: string; to: string | null }>(sql`
      select queue.webhook_id as "webhookId", newest.id as "to"
      from (
        select webhook_id, answers_purged_to from webhook_queues
        where webhook_id > ${after} order by webhook_id limit ${WEBHOOKS_AT_ONCE}
      ) as queue
      left join lateral (
        select id from webhook_deliveries
        where webhook_id = queue.webhook_id and id > coalesce(queue.answers_purged_to, ${NIL_ID})
        order by id desc offset ${DELIVERIES_WITH_RESPONSES} limit 1
      ) as newest on true
      order by queue.webhook_id`);
    for (const { webhookId, to } of queues)
      if (to !== null)
        await repeatInBatches(signal, () => db.transaction((tx) => purgeTo(tx, webhookId, to)));
    after = queues.at(-1)?.webhookId ?? after;
    return queues.length;
  });
}

/**
 * The next deliveries of a webhook, up to `to`, of which nothing is kept from now on. Who writes the result of an attempt locks
 * the queue too: what that has written is seen here, or it sees the position.
 */
async function purgeTo(tx: Queryable, webhookId: string, to: string): Promise<readonly unknown[]> {
  await tx.execute(sql`select 1 from webhook_queues where webhook_id = ${webhookId} for update`);
  return tx.execute(sql`
    with walked as materialized (
      select id from webhook_deliveries
      where webhook_id = ${webhookId} and id <= ${to}
        and id > (select coalesce(answers_purged_to, ${NIL_ID}) from webhook_queues where webhook_id = ${webhookId})
      order by id limit ${BATCH_SIZE}
    ), purged as (
      update webhook_attempts set response_headers = null, response_body = null
      where delivery_id = any (array(select id from walked))
        and (response_headers is not null or response_body is not null)
    ), moved as (
      update webhook_queues set answers_purged_to = (select id from walked order by id desc limit 1)
      where webhook_id = ${webhookId} and exists (select 1 from walked)
    )
    select id from walked`);
}

/** Deletes events after 30 days, but not those whose deliveries are to be made, or of a delivery that is kept. */
export function purgeWebhookEvents(db: Queryable, signal: AbortSignal): Promise<void> {
  return repeatInBatches(signal, () =>
    db.execute(sql`
      delete from webhook_events where id = any (array(
        select event.id from webhook_events event
        where event.created_at < now() - make_interval(days => ${RETENTION_DAYS})
          and event.pending_webhook_ids is null
          and not exists (select 1 from webhook_deliveries delivery where delivery.event_id = event.id)
        order by event.created_at limit ${BATCH_SIZE} for update skip locked
      )) returning id`),
  );
}

/** Purges webhooks 30 days after they were deleted, with their secrets and queues. */
export function purgeDeletedWebhooks(db: Queryable, signal: AbortSignal): Promise<void> {
  return repeatInBatches(signal, () =>
    db.execute(sql`
      delete from webhooks where id = any (array(
        select webhook.id from webhooks webhook
        where webhook.deleted_at < now() - make_interval(days => ${RETENTION_DAYS})
          and not exists (select 1 from webhook_deliveries delivery where delivery.webhook_id = webhook.id)
        limit ${BATCH_SIZE} for update skip locked
      )) returning id`),
  );
}

async function repeatInBatches(
  signal: AbortSignal,
  changeBatch: () => PromiseLike<readonly unknown[]>,
): Promise<void> {
  await repeatBatches(BATCH_SIZE, signal, async () => (await changeBatch()).length);
}

const MAX_PENDING_HOURS = 72;

/** Cancels what is pending for deleted webhooks. */
export function cancelForDeleted(db: Queryable, signal: AbortSignal): Promise<void> {
  return cancelWhere(db, signal, sql`webhook.deleted_at <= now()`);
}

/** Cancels what is pending for disabled webhooks and older than 72 hours. */
export function cancelForDisabled(db: Queryable, signal: AbortSignal): Promise<void> {
  const isOld = sql`delivery.created_at < now() - make_interval(hours => ${MAX_PENDING_HOURS})`;
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

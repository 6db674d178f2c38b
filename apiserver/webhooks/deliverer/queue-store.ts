import { type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { DELIVERIES_CHANNEL } from "../../events/emit.ts";
import type { DeliveryClaim } from "../table.ts";
import type { EndpointHealth } from "./endpoint-health.ts";

interface QueueClaims {
  webhookId: string;
  /** Those that have not ended. */
  claims: DeliveryClaim[];
  /** Whether more may be claimed before one of them is completed. */
  endpointHasCapacity: boolean;
}

/**
 * Makes the queues of these webhooks due, but not before the end of a pause, and notifies the deliverers at the commit.
 * A row that is due already is locked too: a concurrent claim would otherwise miss the deliveries of this transaction.
 * Queues are locked in the order of their ids.
 */
export async function makeQueuesDue(tx: Queryable, webhookIds: readonly string[]): Promise<void> {
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

/**
 * Stores the claims of queues that the transaction has locked, and when each is due again, not before the end of a pause: at its next
 * pending delivery that no process attempts (none while its webhook is disabled or deleted; not before now, so that it comes behind those
 * that are due already) or when its first claim ends, whichever is sooner.
 */
export async function saveClaims(tx: Queryable, queues: readonly QueueClaims[]): Promise<void> {
  if (queues.length === 0) return;
  const input = queues.map((queue) => toRecord(queue));
  await tx.execute(sql`
    update webhook_queues queue set claims = input.claims, due_at = ${nextDue(sql`queue.paused_until`)}
    from json_to_recordset(${JSON.stringify(input)}::text::json)
      as input(webhook_id uuid, claims jsonb, claimed uuid[], lease_end_ms float8, endpoint_has_capacity boolean)
    where queue.webhook_id = input.webhook_id`);
}

interface QueueState extends Omit<QueueClaims, "endpointHasCapacity"> {
  health: EndpointHealth;
}

/** Like saveClaims, and stores the health of the endpoints. */
export async function saveQueues(tx: Queryable, queues: readonly QueueState[]): Promise<void> {
  if (queues.length === 0) return;
  const input = queues.map(({ webhookId, claims, health }) => ({
    ...toRecord({ webhookId, claims, endpointHasCapacity: true }),
    consecutive_failures: health.consecutiveFailures,
    exhausted_events: health.exhaustedEvents,
    failing_since_ms: health.failingSinceMs,
    paused_until_ms: health.pausedUntilMs,
    failure_reported_at_ms: health.failureAuditedAtMs,
    last_delivery_at_ms: health.lastAttemptAtMs,
    last_status_code: health.lastStatusCode,
  }));
  await tx.execute(sql`
    update webhook_queues queue set claims = input.claims, consecutive_failures = input.consecutive_failures,
      exhausted_events = input.exhausted_events, failing_since = ${toTime("failing_since_ms")},
      paused_until = ${toTime("paused_until_ms")}, failure_reported_at = ${toTime("failure_reported_at_ms")},
      last_delivery_at = ${toTime("last_delivery_at_ms")}, last_status_code = input.last_status_code,
      due_at = ${nextDue(toTime("paused_until_ms"))}
    from json_to_recordset(${JSON.stringify(input)}::text::json)
      as input(webhook_id uuid, claims jsonb, claimed uuid[], lease_end_ms float8, endpoint_has_capacity boolean,
        consecutive_failures int, exhausted_events int, failing_since_ms float8, paused_until_ms float8,
        failure_reported_at_ms float8, last_delivery_at_ms float8, last_status_code int)
    where queue.webhook_id = input.webhook_id`);
}

function toRecord({ webhookId, claims, endpointHasCapacity }: QueueClaims) {
  return {
    webhook_id: webhookId,
    claims,
    claimed: claims.flatMap(({ deliveryIds }) => deliveryIds),
    lease_end_ms: claims.length === 0 ? null : Math.min(...claims.map(({ endsAtMs }) => endsAtMs)),
    endpoint_has_capacity: endpointHasCapacity,
  };
}

function toTime(column: string): SQL {
  return sql`to_timestamp(input.${sql.identifier(column)} / 1000)`;
}

function nextDue(pausedUntil: SQL): SQL {
  const nextPending = sql`(
      select greatest(delivery.next_attempt_at, now())
      from webhooks webhook join webhook_deliveries delivery on delivery.webhook_id = webhook.id
      where input.endpoint_has_capacity and webhook.id = queue.webhook_id
        and webhook.enabled and (webhook.deleted_at is null or webhook.deleted_at > now())
        and delivery.status = 'pending' and delivery.id <> all (input.claimed)
      order by delivery.next_attempt_at limit 1
    )`;
  const soonest = sql`coalesce(least(${toTime("lease_end_ms")}, ${nextPending}), 'infinity')`;
  return sql`nullif(greatest(${pausedUntil}, ${soonest}), 'infinity')`;
}

/** Counts over all webhooks. */
export interface Figures {
  pending: number;
  oldestSeconds: number;
  overdueSeconds: number;
  disabled: Record<"gone" | "failing" | "tenant", number>;
}

/** Counts pending deliveries, including those of events that are not fanned out yet, and disabled webhooks. */
export async function readDeliveryFigures(db: Queryable): Promise<Figures> {
  const [row] = await db.execute<Omit<Figures, "disabled"> & Figures["disabled"]>(sql`
    select made.count + awaited.count as pending, greatest(made.age, awaited.age) as "oldestSeconds",
      greatest(overdue.age, awaited.age) as "overdueSeconds", disabled.*
    from (
      select count(*)::float8 as count, coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as age
      from webhook_deliveries where status = 'pending'
    ) made, (
      select coalesce(sum(cardinality(pending_webhook_ids)), 0)::float8 as count,
        coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as age
      from webhook_events where pending_webhook_ids is not null
    ) awaited, (
      select coalesce(greatest(0, extract(epoch from now() - min(due_at))), 0)::float8 as age from webhook_queues
    ) overdue, (
      select count(*) filter (where disabled_reason = 'gone')::float8 as gone,
        count(*) filter (where disabled_reason = 'failing')::float8 as failing,
        count(*) filter (where disabled_reason is null)::float8 as tenant
      from webhooks where not enabled and deleted_at is null
    ) disabled`);
  if (row === undefined) throw new Error("no figures");
  const { gone, failing, tenant, ...figures } = row;
  return { ...figures, disabled: { gone, failing, tenant } };
}

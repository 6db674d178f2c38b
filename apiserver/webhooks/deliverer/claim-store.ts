import { asc, sql } from "drizzle-orm";
import { createId } from "../../../shared/program/id.ts";
import type { Database, Queryable } from "../../db/client.ts";
import type { SentEventType } from "../../events/event-types.ts";
import { type DeliveryClaim, type DeliveryTrigger, type WebhookSecretRow, webhookSecrets } from "../table.ts";
import { isThrottled } from "./endpoint-health.ts";
import { saveClaims } from "./queue-store.ts";

/** Longer than an attempt with all that belongs to it, so that only what a process has left behind is claimed again. */
const LEASE_MS = 60_000;

/** A delivery that this process attempts. */
export interface ClaimedDelivery {
  id: string;
  orgId: string;
  webhookId: string;
  claimId: string;
  /** The `webhook-id`. */
  eventId: string;
  eventType: SentEventType;
  trigger: DeliveryTrigger;
  /** Attempts made so far. */
  attempts: number;
  maxAttempts: number;
  createdAtMs: number;
  url: string;
  /** The exact text to sign and to send. */
  body: string;
}

export interface ClaimOptions {
  /** Claimed at most. */
  limit: number;
  /** Attempts at once of one endpoint, over all replicas. */
  endpointConcurrency: number;
  /** How many may be claimed for an organization now, so that the slow endpoints of one do not delay those of others. */
  orgCapacityOf: (orgId: string) => number;
  /** Organizations for which none may be claimed now. */
  busyOrgIds: readonly string[];
}

interface DueQueue {
  webhookId: string;
  orgId: string;
  consecutiveFailures: number;
  claims: DeliveryClaim[];
  nowMs: number;
}

type DueDelivery = Omit<ClaimedDelivery, "claimId" | "orgId">;

/**
 * Claims due deliveries of enabled webhooks, of the webhook that has waited longest first. Its cost depends on the
 * number of deliveries that it claims, not on how many are pending. A claim that is not completed ends after 60 s.
 */
export async function claimDeliveries(db: Database, options: ClaimOptions): Promise<ClaimedDelivery[]> {
  return db.transaction(async (tx) => {
    const queues = await lockDueQueues(tx, options);
    if (queues.length === 0) return [];
    const endpointCapacities = queues.map((queue) => toEndpointCapacity(queue, options.endpointConcurrency));
    const due = await findDueDeliveries(tx, endpointCapacities, options.limit);
    const admitted = admit(due, queues, options.orgCapacityOf);
    const admittedOf = Map.groupBy(admitted, ({ webhookId }) => webhookId);
    const claimId = createId();
    await saveClaims(
      tx,
      queues.slice(0, countExaminedQueues(queues, due, options.limit)).map((queue, index) => {
        const deliveryIds = (admittedOf.get(queue.webhookId) ?? []).map(({ id }) => id);
        const unexpired = endpointCapacities[index]?.unexpired ?? [];
        const leftCapacity = (endpointCapacities[index]?.endpointCapacity ?? 0) - deliveryIds.length;
        const claim = { id: claimId, endsAtMs: queue.nowMs + LEASE_MS, deliveryIds };
        return {
          webhookId: queue.webhookId,
          claims: deliveryIds.length === 0 ? unexpired : [...unexpired, claim],
          endpointHasCapacity: leftCapacity > 0,
        };
      }),
    );
    return admitted.map((delivery) => ({ ...delivery, claimId }));
  });
}

/** Milliseconds until a queue is due, negative when one is; undefined when none will be. */
export async function findNextDueMs(db: Queryable): Promise<number | undefined> {
  const [row] = await db.execute<{ ms: number | null }>(sql`
    select (extract(epoch from min(due_at) - now()) * 1000)::float8 as ms from webhook_queues`);
  return row?.ms ?? undefined;
}

async function lockDueQueues(
  tx: Queryable,
  { limit, busyOrgIds }: Pick<ClaimOptions, "limit" | "busyOrgIds">,
): Promise<DueQueue[]> {
  const busy = JSON.stringify(busyOrgIds);
  return tx.execute<DueQueue & Record<string, unknown>>(sql`
    select webhook_id as "webhookId", org_id as "orgId", consecutive_failures as "consecutiveFailures", claims,
      (extract(epoch from now()) * 1000)::float8 as "nowMs"
    from webhook_queues
    where due_at <= now()
      and org_id not in (select value::uuid from json_array_elements_text(${busy}::text::json))
    order by due_at limit ${limit} for update skip locked`);
}

interface EndpointCapacity {
  webhookId: string;
  unexpired: DeliveryClaim[];
  endpointCapacity: number;
}

function toEndpointCapacity(queue: DueQueue, endpointConcurrency: number): EndpointCapacity {
  const unexpired = queue.claims.filter(({ endsAtMs }) => endsAtMs > queue.nowMs);
  const inFlight = unexpired.reduce((sum, { deliveryIds }) => sum + deliveryIds.length, 0);
  const cap = isThrottled(queue) ? 1 : endpointConcurrency;
  return { webhookId: queue.webhookId, unexpired, endpointCapacity: Math.max(0, cap - inFlight) };
}

/** A separate statement after the lock, so that it sees what was committed before the lock was granted. */
async function findDueDeliveries(
  tx: Queryable,
  endpointCapacities: readonly EndpointCapacity[],
  limit: number,
): Promise<DueDelivery[]> {
  const input = endpointCapacities.map(({ webhookId, unexpired, endpointCapacity }, position) => ({
    webhook_id: webhookId,
    position,
    capacity: endpointCapacity,
    claimed: unexpired.flatMap(({ deliveryIds }) => deliveryIds),
  }));
  return tx.execute<DueDelivery & Record<string, unknown>>(sql`
    select due.id, due.webhook_id as "webhookId", due.event_id as "eventId", due.event_type as "eventType", due.trigger,
      due.attempts, due.max_attempts as "maxAttempts",
      (extract(epoch from due.created_at) * 1000)::float8 as "createdAtMs", due.url, event.body
    from (
      select queue.position, webhook.url, delivery.*
      from json_to_recordset(${JSON.stringify(input)}::text::json)
        as queue(webhook_id uuid, position int, capacity int, claimed uuid[])
      join webhooks webhook on webhook.id = queue.webhook_id
        and webhook.enabled and (webhook.deleted_at is null or webhook.deleted_at > now())
      cross join lateral (
        select * from webhook_deliveries
        where webhook_id = queue.webhook_id and status = 'pending' and next_attempt_at <= now()
          and id <> all (queue.claimed)
        order by next_attempt_at limit queue.capacity
      ) delivery
      order by queue.position, delivery.next_attempt_at limit ${limit}
    ) due
    join webhook_events event on event.id = due.event_id
    order by due.position, due.next_attempt_at`);
}

/** Each organization has as many as its capacity; the rest stays due. */
function admit(
  due: readonly DueDelivery[],
  queues: readonly DueQueue[],
  orgCapacityOf: ClaimOptions["orgCapacityOf"],
): Omit<ClaimedDelivery, "claimId">[] {
  const orgIds = new Map(queues.map(({ webhookId, orgId }) => [webhookId, orgId]));
  const orgCapacities = new Map<string, number>();
  return due.flatMap((delivery) => {
    const orgId = orgIds.get(delivery.webhookId) ?? "";
    const orgCapacity = orgCapacities.get(orgId) ?? orgCapacityOf(orgId);
    orgCapacities.set(orgId, orgCapacity - 1);
    return orgCapacity > 0 ? [{ ...delivery, orgId }] : [];
  });
}

/** How many queues were examined before the limit was reached; the others keep their order. */
function countExaminedQueues(
  queues: readonly DueQueue[],
  due: readonly DueDelivery[],
  limit: number,
): number {
  if (due.length < limit) return queues.length;
  return queues.findIndex(({ webhookId }) => webhookId === due.at(-1)?.webhookId) + 1;
}

/** The secrets that sign for these webhooks now, the one in use first. */
export async function findSigningSecrets(
  db: Queryable,
  webhookIds: readonly string[],
): Promise<Map<string, WebhookSecretRow[]>> {
  const ids = JSON.stringify([...new Set(webhookIds)]);
  const rows = await db
    .select()
    .from(webhookSecrets)
    .where(
      sql`${webhookSecrets.webhookId} in (select value::uuid from json_array_elements_text(${ids}::text::json))
        and (${webhookSecrets.expiresAt} is null or ${webhookSecrets.expiresAt} > now())`,
    )
    .orderBy(asc(webhookSecrets.webhookId), sql`${webhookSecrets.id} desc`);
  return Map.groupBy(rows, ({ webhookId }) => webhookId);
}

import { sql } from "drizzle-orm";
import type { Database, Queryable } from "../../db/client.ts";
import type { DeliveryClaim, ErrorClass } from "../table.ts";
import type { ClaimedDelivery } from "./claim-store.ts";
import { disableWebhooks } from "./disable-store.ts";
import {
  countsAgainstEndpoint,
  type EndpointAttempt,
  type EndpointHealth,
  isThrottled,
  nextHealth,
} from "./endpoint-health.ts";
import { saveQueues } from "./queue-store.ts";
import { planRetry } from "./schedule.ts";

/** How long deliveries wait that Marina itself could not send. */
const POSTPONE_MS = 60_000;
const GONE = 410;

/** What was sent, and what came back. */
export interface Attempted {
  kind: "attempted";
  atMs: number;
  durationMs: number;
  requestHeaders: Record<string, string>;
  statusCode: number | null;
  responseHeaders: Record<string, string> | null;
  responseBody: Buffer | null;
  retryAfterSeconds?: number | undefined;
  /** Null for a success. */
  errorClass: ErrorClass | null;
  errorMessage: string | null;
}

/** Nothing was sent, through a fault of Marina's own: the webhook waits for a minute. */
export interface Postponed {
  kind: "postponed";
}

/** No attempt is recorded, for the process drains or could not read the secrets: the delivery is due again at once. */
export interface Released {
  kind: "released";
}

export interface AttemptResult {
  delivery: ClaimedDelivery;
  outcome: Attempted | Postponed | Released;
}

/** What became of a delivery: `superseded` when its claim had ended, so that another process may have it. */
export type DeliveryResult = "delivered" | "retried" | "failed" | "postponed" | "released" | "superseded";

interface LockedQueue extends EndpointHealth {
  webhookId: string;
  claims: DeliveryClaim[];
  nowMs: number;
  responsesPurgedTo: string | null;
}

interface DeliveryChange {
  delivery: ClaimedDelivery;
  attempt: Attempted;
  status: "delivered" | "pending" | "failed";
  retryInSeconds: number | null;
}

/**
 * Writes attempts, what becomes of their deliveries and the health of the endpoints, in one transaction, and ends the
 * claims. A result whose claim is no longer in the queue changes nothing: its delivery is due again, or
 * another process has it. Returns what became of each delivery, in order.
 */
export async function saveAttemptResults(
  db: Database,
  results: readonly AttemptResult[],
  random: () => number = Math.random,
): Promise<DeliveryResult[]> {
  return db.transaction(async (tx) => {
    const gone = [...new Set(results.filter(isGone).map(({ delivery }) => delivery.webhookId))];
    await lockWebhooks(tx, gone);
    const queues = new Map<string, LockedQueue>();
    for (const queue of await lockQueues(tx, results)) queues.set(queue.webhookId, queue);
    const changes: DeliveryChange[] = [];
    const deliveryResults = results.map((result) => {
      const { delivery, outcome } = result;
      const queue = queues.get(delivery.webhookId);
      if (queue === undefined || !endClaim(queue, delivery)) return "superseded";
      if (outcome.kind === "postponed")
        queue.pausedUntilMs = Math.max(queue.pausedUntilMs ?? 0, queue.nowMs + POSTPONE_MS);
      if (outcome.kind !== "attempted") return outcome.kind;
      // Nothing that came back is kept of a delivery that purgeResponses has passed.
      const isOld = delivery.id <= (queue.responsesPurgedTo ?? "");
      const attempted = isOld ? { ...outcome, responseHeaders: null, responseBody: null } : outcome;
      const change = decide(queue, delivery, attempted, random());
      changes.push(change);
      Object.assign(queue, nextHealth(queue, toEndpointAttempt(change), queue.nowMs));
      return change.status === "pending" ? "retried" : change.status;
    });
    await saveAttempts(tx, changes);
    await saveQueues(
      tx,
      [...queues.values()].map(({ webhookId, claims, nowMs: _nowMs, responsesPurgedTo: _to, ...health }) => ({
        webhookId,
        claims,
        health,
      })),
    );
    const disabled = gone.filter((id) =>
      changes.some((change) => change.delivery.webhookId === id && isGone(toAttemptResult(change))),
    );
    await disableWebhooks(tx, disabled, "gone");
    return deliveryResults;
  });
}

function isGone({ delivery, outcome }: AttemptResult): boolean {
  return (
    outcome.kind === "attempted" && outcome.statusCode === GONE && countsAgainstEndpoint(delivery.trigger)
  );
}

function toAttemptResult({ delivery, attempt }: DeliveryChange): AttemptResult {
  return { delivery, outcome: attempt };
}

/** Takes a delivery out of its claim; returns false when the claim is not there. */
function endClaim(queue: LockedQueue, { id, claimId }: ClaimedDelivery): boolean {
  const claim = queue.claims.find((one) => one.id === claimId);
  if (claim === undefined || !claim.deliveryIds.includes(id)) return false;
  claim.deliveryIds = claim.deliveryIds.filter((one) => one !== id);
  queue.claims = queue.claims.filter(({ deliveryIds }) => deliveryIds.length > 0);
  return true;
}

function decide(
  queue: LockedQueue,
  delivery: ClaimedDelivery,
  attempt: Attempted,
  random: number,
): DeliveryChange {
  if (attempt.errorClass === null) return { delivery, attempt, status: "delivered", retryInSeconds: null };
  const failed = {
    attempts: delivery.attempts + 1,
    maxAttempts: delivery.maxAttempts,
    ageSeconds: (queue.nowMs - delivery.createdAtMs) / 1000,
    isThrottled: isThrottled(queue),
    retryAfterSeconds: attempt.retryAfterSeconds,
  };
  const retryInSeconds = attempt.statusCode === GONE ? undefined : planRetry(failed, random);
  if (retryInSeconds === undefined) return { delivery, attempt, status: "failed", retryInSeconds: null };
  return { delivery, attempt, status: "pending", retryInSeconds };
}

function toEndpointAttempt({ delivery, attempt, status }: DeliveryChange): EndpointAttempt {
  return {
    trigger: delivery.trigger,
    isSuccess: status === "delivered",
    isLast: status === "failed",
    atMs: attempt.atMs,
    statusCode: attempt.statusCode,
  };
}

/** Before the queues: in the order in which a change of a webhook locks them. */
async function lockWebhooks(tx: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.execute(sql`
    select 1 from webhooks where id in (select value::uuid from json_array_elements_text(${JSON.stringify(ids)}::text::json))
    order by id for no key update`);
}

async function lockQueues(tx: Queryable, results: readonly AttemptResult[]): Promise<LockedQueue[]> {
  const ids = JSON.stringify([...new Set(results.map(({ delivery }) => delivery.webhookId))]);
  const ms = (column: string) => sql`(extract(epoch from ${sql.identifier(column)}) * 1000)::float8`;
  return tx.execute<LockedQueue & Record<string, unknown>>(sql`
    select webhook_id as "webhookId", claims, (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
      consecutive_failures as "consecutiveFailures", exhausted_events as "exhaustedEvents",
      ${ms("failing_since")} as "failingSinceMs", ${ms("paused_until")} as "pausedUntilMs",
      ${ms("failure_reported_at")} as "failureAuditedAtMs", ${ms("last_delivery_at")} as "lastAttemptAtMs",
      last_status_code as "lastStatusCode", answers_purged_to as "responsesPurgedTo"
    from webhook_queues
    where webhook_id in (select value::uuid from json_array_elements_text(${ids}::text::json))
    order by webhook_id for update`);
}

/**
 * A delivery that was cancelled meanwhile stays so, unless it was delivered. The array of ids lets PostgreSQL use the
 * primary key also while it has no statistics: for the join alone it would read the whole table. As jsonb, for
 * json_to_recordset reads each object in a record twice.
 */
async function saveAttempts(tx: Queryable, changes: readonly DeliveryChange[]): Promise<void> {
  if (changes.length === 0) return;
  const ids = JSON.stringify(changes.map(({ delivery }) => delivery.id));
  await tx.execute(sql`
    with input as (
      select * from jsonb_to_recordset(${JSON.stringify(changes.map(toRecord))}::text::jsonb)
        as input(id uuid, org_id uuid, status text, retry_in_seconds float8, at_ms float8, duration_ms int, url text,
          request_headers jsonb, status_code int, response_headers jsonb, response_body text, error_class text,
          error_message text)
    ), changed as (
      update webhook_deliveries delivery
      set attempts = delivery.attempts + 1, last_status_code = input.status_code, last_error_class = input.error_class,
        status = case when delivery.status = 'pending' or input.status = 'delivered' then input.status else delivery.status end,
        next_attempt_at = case when delivery.status = 'pending' and input.status = 'pending'
          then now() + make_interval(secs => input.retry_in_seconds) end,
        completed_at = case when delivery.status = 'pending' and input.status = 'pending' then null
          else coalesce(delivery.completed_at, now()) end
      from input
      where delivery.id = any (array(select value::uuid from json_array_elements_text(${ids}::text::json)))
        and delivery.id = input.id and delivery.org_id = input.org_id
      returning delivery.id, delivery.attempts
    )
    insert into webhook_attempts (delivery_id, number, org_id, at, duration_ms, request_url, request_headers, status_code,
      response_headers, response_body, error_class, error_message)
    select changed.id, changed.attempts, input.org_id, to_timestamp(input.at_ms / 1000), input.duration_ms, input.url,
      input.request_headers, input.status_code, input.response_headers, decode(input.response_body, 'base64'),
      input.error_class, input.error_message
    from changed join input on input.id = changed.id`);
}

function toRecord({ delivery, attempt, status, retryInSeconds }: DeliveryChange) {
  return {
    id: delivery.id,
    org_id: delivery.orgId,
    status,
    retry_in_seconds: retryInSeconds,
    at_ms: attempt.atMs,
    duration_ms: Math.round(attempt.durationMs),
    url: delivery.url,
    request_headers: attempt.requestHeaders,
    status_code: attempt.statusCode,
    response_headers: attempt.responseHeaders,
    response_body: attempt.responseBody?.toString("base64") ?? null,
    error_class: attempt.errorClass,
    error_message: attempt.errorMessage,
  };
}

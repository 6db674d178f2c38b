import type { DeliveryTrigger } from "../table.ts";

const THROTTLED_AFTER_FAILURES = 10;
const PAUSE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
const RECORDED_AFTER_MS = 4 * DAY_MS;
const DISABLED_AFTER_MS = 5 * DAY_MS;
const DISABLING_EVENTS = 2;

/** The health of an endpoint; times in milliseconds since 1970. */
export interface EndpointHealth {
  consecutiveFailures: number;
  /** Events whose retries are exhausted, since the last success. */
  exhaustedEvents: number;
  /** The first failure since the last success. */
  failingSinceMs: number | null;
  pausedUntilMs: number | null;
  failureAuditedAtMs: number | null;
  /** The start of the attempt that began last, and what came back. */
  lastAttemptAtMs: number | null;
  lastStatusCode: number | null;
}

export interface EndpointAttempt {
  trigger: DeliveryTrigger;
  isSuccess: boolean;
  /** Its delivery is not attempted again. */
  isLast: boolean;
  atMs: number;
  statusCode: number | null;
}

/** Whether a failure counts against the endpoint: a test and a redelivery are no events that it misses. */
export function countsAgainstEndpoint(trigger: DeliveryTrigger): boolean {
  return trigger === "event" || trigger === "recovery";
}

/** Whether an endpoint gets one attempt a minute: after ten consecutive failures, until one succeeds. */
export function isThrottled({ consecutiveFailures }: Pick<EndpointHealth, "consecutiveFailures">): boolean {
  return consecutiveFailures >= THROTTLED_AFTER_FAILURES;
}

/**
 * The health of an endpoint after one more attempt that ended at `nowMs`. Any success clears its failures. The last attempt is the
 * one that began last: several are made at once, and end in any order.
 */
export function nextHealth(health: EndpointHealth, attempt: EndpointAttempt, nowMs: number): EndpointHealth {
  const last = lastAttemptOf(health, attempt);
  if (attempt.isSuccess)
    return {
      consecutiveFailures: 0,
      exhaustedEvents: 0,
      failingSinceMs: null,
      pausedUntilMs: null,
      failureAuditedAtMs: null,
      ...last,
    };
  const isCounted = countsAgainstEndpoint(attempt.trigger);
  const consecutiveFailures = health.consecutiveFailures + (isCounted ? 1 : 0);
  const pausedUntilMs = isThrottled({ consecutiveFailures }) ? nowMs + PAUSE_MS : health.pausedUntilMs;
  if (!isCounted) return { ...health, ...last, pausedUntilMs };
  return {
    ...health,
    ...last,
    consecutiveFailures,
    exhaustedEvents: health.exhaustedEvents + (attempt.isLast ? 1 : 0),
    failingSinceMs: health.failingSinceMs ?? attempt.atMs,
    pausedUntilMs,
  };
}

function lastAttemptOf(
  { lastAttemptAtMs, lastStatusCode }: EndpointHealth,
  { atMs, statusCode }: EndpointAttempt,
): Pick<EndpointHealth, "lastAttemptAtMs" | "lastStatusCode"> {
  const isNewer = lastAttemptAtMs === null || atMs >= lastAttemptAtMs;
  return isNewer
    ? { lastAttemptAtMs: atMs, lastStatusCode: statusCode }
    : { lastAttemptAtMs, lastStatusCode };
}

/** Whether a webhook that has failed for five days is disabled, or one that has failed for four is recorded in the audit log. */
export function classifyFailure(
  health: Pick<EndpointHealth, "failingSinceMs" | "exhaustedEvents" | "failureAuditedAtMs">,
  nowMs: number,
): "disable" | "record" | "leave" {
  if (health.failingSinceMs === null) return "leave";
  const failingMs = nowMs - health.failingSinceMs;
  if (failingMs >= DISABLED_AFTER_MS && health.exhaustedEvents >= DISABLING_EVENTS) return "disable";
  return failingMs >= RECORDED_AFTER_MS && health.failureAuditedAtMs === null ? "record" : "leave";
}

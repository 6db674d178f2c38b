const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Between two attempts of a delivery, in seconds; the first attempt is made at once. */
export const RETRY_DELAYS_SECONDS: readonly number[] = [
  5,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  10 * HOUR,
];

/** The attempts of a delivery. */
export const MAX_ATTEMPTS = RETRY_DELAYS_SECONDS.length + 1;

/** Retries are spread by up to a fifth either way, so that those of one outage do not come at once. */
const JITTER = 0.2;
/** `Retry-After` may at most double a delay. */
const MAX_RETRY_AFTER_FACTOR = 2;
/** The sum of the delays between the attempts of a delivery, each doubled by `Retry-After`. */
const WHOLE_SCHEDULE_SECONDS =
  RETRY_DELAYS_SECONDS.reduce((sum, delay) => sum + delay, 0) * MAX_RETRY_AFTER_FACTOR;

export interface FailedDelivery {
  /** Attempts made, this one included. */
  attempts: number;
  maxAttempts: number;
  /** Since the delivery was created. */
  ageSeconds: number;
  /** Its endpoint gets one attempt a minute. */
  isThrottled: boolean;
  /** What the response asked for, if it did. */
  retryAfterSeconds?: number | undefined;
}

/**
 * Seconds until the next attempt, or undefined when the retries are exhausted. Of many deliveries that wait for an endpoint with
 * one attempt a minute none would reach its last attempt: there, one that is older than the whole schedule is exhausted too.
 * `random` is from 0 to 1.
 */
export function planRetry(failed: FailedDelivery, random: number): number | undefined {
  const delay = RETRY_DELAYS_SECONDS[failed.attempts - 1];
  if (delay === undefined || failed.attempts >= failed.maxAttempts) return undefined;
  if (failed.isThrottled && failed.ageSeconds > WHOLE_SCHEDULE_SECONDS) return undefined;
  const spread = delay * (1 - JITTER + 2 * JITTER * random);
  return Math.max(spread, Math.min(failed.retryAfterSeconds ?? 0, delay * MAX_RETRY_AFTER_FACTOR));
}

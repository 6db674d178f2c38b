import { networkCodeOf, wasNeverSent } from "./errors.ts";
import { fullJitterMs } from "./sleep.ts";

const MAX_ATTEMPTS = 5;
const BASE_MS = 100;
const CAP_MS = 5_000;

/** The connection broke; the server may or may not have processed the request. */
const BROKEN_CONNECTION = new Set(["ECONNRESET", "EPIPE", "ETIMEDOUT", "UND_ERR_SOCKET"]);

export interface FailedAttempt {
  /** Counts from 1. */
  attempt: number;
  idempotent: boolean;
  /** Status of the response, or 0 with the network `error`. */
  status: number;
  error?: unknown;
  retryAfterMs?: number | undefined;
  remainingMs: number;
}

/**
 * The wait before the next attempt; undefined when the request must not be retried, or not within its deadline.
 * Any request is retried after 429 and when it was never sent; after 503 and a broken connection only an idempotent
 * one. A certificate that does not verify is not retried.
 */
export function retryDelayMs(failed: FailedAttempt, random = Math.random): number | undefined {
  if (failed.attempt >= MAX_ATTEMPTS || !mayRetry(failed)) return undefined;
  const waitMs = (failed.retryAfterMs ?? 0) + fullJitterMs(failed.attempt, BASE_MS, CAP_MS, random);
  return waitMs < failed.remainingMs ? waitMs : undefined;
}

function mayRetry(failed: FailedAttempt): boolean {
  if (failed.status === 429) return true;
  if (failed.status === 503) return failed.idempotent;
  if (failed.status !== 0) return false;
  const isBroken = BROKEN_CONNECTION.has(networkCodeOf(failed.error) ?? "");
  return wasNeverSent(failed.error) || (failed.idempotent && isBroken);
}

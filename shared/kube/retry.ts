import { fullJitterMs } from "./sleep.ts";

const MAX_ATTEMPTS = 5;
const BASE_MS = 100;
const CAP_MS = 5_000;

/** The server cannot have seen the request. */
const NOT_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);
/** The connection broke; the server may or may not have acted. */
const BROKEN = new Set(["ECONNRESET", "EPIPE", "ETIMEDOUT", "UND_ERR_SOCKET"]);

export interface FailedAttempt {
  /** Counts from 1. */
  attempt: number;
  idempotent: boolean;
  /** Status of the answer, or 0 with the network error's `code`. */
  status: number;
  code?: string | undefined;
  retryAfterMs?: number | undefined;
  remainingMs: number;
}

/**
 * How long to wait before the request is sent again; undefined when it must not be, or not within its deadline.
 * 429 is answered before a request is acted upon, so any request may follow it; after 503 and a broken connection
 * only an idempotent one. A certificate that does not verify is never tried again.
 */
export function retryDelayMs(failed: FailedAttempt, random = Math.random): number | undefined {
  if (failed.attempt >= MAX_ATTEMPTS || !mayRetry(failed)) return undefined;
  const waitMs = (failed.retryAfterMs ?? 0) + fullJitterMs(failed.attempt, BASE_MS, CAP_MS, random);
  return waitMs < failed.remainingMs ? waitMs : undefined;
}

function mayRetry(failed: FailedAttempt): boolean {
  if (failed.status === 429) return true;
  if (failed.status === 503) return failed.idempotent;
  if (failed.status !== 0 || failed.code === undefined) return false;
  return NOT_SENT.has(failed.code) || (failed.idempotent && BROKEN.has(failed.code));
}

import { KubeError, networkCodeOf, wasNeverSent } from "./errors.ts";
import { fullJitterMs } from "./sleep.ts";

/** One call of the Kubernetes API while it runs. */
export interface Call {
  signal: AbortSignal;
  remainingMs(): number;
  /** Removes the deadline; the caller's signal stays. */
  clearDeadline(): void;
  abort(reason: KubeError): void;
  /** Must be called once: releases the timer and the listener on the caller's signal. */
  end(): void;
  toError(error: unknown, request: string): KubeError;
}

/** Combines the caller's signal with a deadline; `toError` reports as a KubeError which of them ended the call. */
export function startCall(request: { signal?: AbortSignal | undefined }, timeoutMs: number): Call {
  const controller = new AbortController();
  const endsAt = performance.now() + timeoutMs;
  const outer = request.signal;
  let reason = "Unreachable";
  const stop = (why: string) => {
    reason = why;
    controller.abort();
  };
  const onAbort = () => stop("Aborted");
  const timer = setTimeout(() => stop("DeadlineExceeded"), timeoutMs);
  if (outer?.aborted) onAbort();
  outer?.addEventListener("abort", onAbort, { once: true });

  return {
    signal: controller.signal,
    remainingMs: () => endsAt - performance.now(),
    clearDeadline: () => clearTimeout(timer),
    abort: (error) => controller.abort(error),
    end() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", onAbort);
    },
    toError(error, description) {
      if (error instanceof KubeError) return error;
      if (controller.signal.reason instanceof KubeError) return controller.signal.reason;
      return new KubeError({
        status: 0,
        reason,
        kubeMessage:
          reason === "DeadlineExceeded" ? `no response within ${timeoutMs} ms` : describeError(error),
        request: description,
        cause: error,
      });
    },
  };
}

function describeError(error: unknown): string {
  if (error instanceof Error && error.message !== "") return error.message;
  return networkCodeOf(error) ?? String(error);
}

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

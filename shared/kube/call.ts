import type { Dispatcher } from "undici";
import {
  createFairQueue,
  type TenantContext,
  TokenBucket,
  type TokenBucketLimit,
} from "../program/limits.ts";
import { fullJitterMs } from "../program/time.ts";
import { KubeError, networkCodeOf, wasNeverSent } from "./errors.ts";

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

interface RateLimiter {
  /**
   * Resolves when a request of the tenant may be sent; false when the signal aborted first. Requests of one tenant are
   * sent in the order of the calls, tenants take turns, and none gets more than half of the rate, of which a call of a dry
   * run takes three calls' part. Without a tenant the service itself asks, and is bound by the whole rate alone.
   */
  wait(signal?: AbortSignal, caller?: Pick<TenantContext, "tenant" | "isDryRun">): Promise<boolean>;
}

const SERVICE = "";
/** Half: while one tenant uses all it may, another finds a token at once. */
const TENANT_SHARE = 0.5;
/** A dry run of 50 pools costs the Kubernetes API 0.4 s of processor time, and may be had again and again. */
const DRY_RUN_CALLS = 3;
/**
 * Full shares are dropped whenever so many were added, so that the memory is that of the tenants of the last seconds.
 */
const SWEEP_EVERY = 1024;

interface WaitingCall {
  /** As how many calls it counts in its tenant's share. */
  calls: number;
  resolve: () => void;
}

/** Lets `burst` requests through at once and `perSecond` after that. */
export function createRateLimiter(limit: TokenBucketLimit): RateLimiter {
  const shareLimit = { burst: limit.burst * TENANT_SHARE, perSecond: limit.perSecond * TENANT_SHARE };
  const total = new TokenBucket(limit, performance.now());
  /** Shares of tenants with recent requests: a full share is the same as none. */
  const shares = new Map<string, TokenBucket>();
  const waiting = createFairQueue<object, WaitingCall>();
  let waitingCount = 0;
  let added = 0;
  let timer: NodeJS.Timeout | undefined;

  function shareOf(tenant: string, nowMs: number): TokenBucket {
    return shares.get(tenant) ?? addShare(tenant, nowMs);
  }

  function addShare(tenant: string, nowMs: number): TokenBucket {
    const share = new TokenBucket(shareLimit, nowMs);
    shares.set(tenant, share);
    if (++added % SWEEP_EVERY === 0)
      for (const [other, bucket] of shares)
        if (bucket !== share && bucket.level(nowMs) >= shareLimit.burst) shares.delete(other);
    return share;
  }

  function sendNext(nowMs: number): boolean {
    if (total.level(nowMs) < 1) return false;
    const next = waiting.next((tenant) => tenant === SERVICE || shareOf(tenant, nowMs).level(nowMs) >= 1);
    if (next === undefined) return false;
    total.reserve(nowMs);
    const { calls, resolve } = next.value;
    if (next.tenant !== SERVICE)
      for (let call = 0; call < calls; call++) shareOf(next.tenant, nowMs).reserve(nowMs);
    waitingCount -= 1;
    resolve();
    return true;
  }

  function send(): void {
    clearTimeout(timer);
    const nowMs = performance.now();
    while (sendNext(nowMs));
    if (waitingCount > 0) timer = setTimeout(send, waitMs(nowMs));
  }

  /** Until the next token of all, or of a tenant's share when only that is missing. */
  function waitMs(nowMs: number): number {
    const missing = 1 - total.level(nowMs);
    return missing > 0 ? (missing / limit.perSecond) * 1000 : 1000 / shareLimit.perSecond;
  }

  return {
    async wait(signal, { tenant = SERVICE, isDryRun = false } = { tenant: SERVICE }) {
      if (signal?.aborted === true) return false;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const entry = {};
      const onAbort = () => {
        waiting.remove(tenant, entry);
        waitingCount -= 1;
        resolve(false);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const pass = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve(true);
      };
      waiting.add(tenant, entry, { calls: isDryRun ? DRY_RUN_CALLS : 1, resolve: pass });
      waitingCount += 1;
      send();
      return promise;
    },
  };
}

export interface TransportResponse {
  status: number;
  headers: Record<string, string>;
  /** Parsed JSON, or the text when it is not JSON. */
  body: unknown;
}

type Body = Dispatcher.ResponseData["body"];

/** The status, the headers and the parsed body of a response, by default however large it is. */
export async function readResponse(
  response: Dispatcher.ResponseData,
  readBody = (body: Body) => body.text(),
): Promise<TransportResponse> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  const text = await readBody(response.body);
  return { status: response.statusCode, headers, body: parseBody(text, headers["content-type"]) };
}

/** Passes bodies on until all of them together are too large: a KubeError then, reason "TooLarge". */
export function createByteLimit(maxTotalBytes: number): (body: Body) => AsyncIterable<Buffer> {
  let left = maxTotalBytes;
  return async function* (body) {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      left -= chunk.length;
      if (left < 0) throw tooLarge(`the responses are larger than ${maxTotalBytes} bytes together`);
      yield chunk;
    }
  };
}

/** The text of a body. */
export async function collectText(chunks: AsyncIterable<Buffer>): Promise<string> {
  const read: Buffer[] = [];
  for await (const chunk of chunks) read.push(chunk);
  return Buffer.concat(read).toString();
}

function tooLarge(kubeMessage: string): KubeError {
  return new KubeError({ status: 0, reason: "TooLarge", kubeMessage });
}

function parseBody(text: string, contentType: string | undefined): unknown {
  if (!contentType?.includes("json")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text; // Truncated or mislabelled: the caller's error shows the text.
  }
}

interface LineLimits {
  maxLength?: number | undefined;
  maxLines?: number | undefined;
}

/**
 * The lines of a byte stream without their newline; a last line without newline is included. Calls `onIdle`, which must
 * end the stream, when no byte arrives for `idleTimeoutMs` while a line is awaited. A line of more characters than
 * `maxLength`, and more lines than `maxLines`, empty ones included, are a KubeError, reason "TooLarge".
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  idleTimeoutMs: number,
  onIdle: () => void,
  { maxLength = Number.POSITIVE_INFINITY, maxLines = Number.POSITIVE_INFINITY }: LineLimits = {},
): AsyncGenerator<string> {
  const iterator = chunks[Symbol.asyncIterator]();
  const decoder = new TextDecoder();
  let rest = "";
  let count = 0;
  try {
    for (;;) {
      const timer = setTimeout(onIdle, idleTimeoutMs);
      const { done, value } = await iterator.next().finally(() => clearTimeout(timer));
      if (done) break;
      const parts = decoder.decode(value, { stream: true }).split("\n");
      parts[0] = rest + parts[0];
      if (parts.some(({ length }) => length > maxLength))
        throw tooLarge(`a line has more than ${maxLength} characters`);
      rest = parts.pop() ?? "";
      count += parts.length;
      if (count > maxLines) throw tooLarge(`there are more than ${maxLines} lines`);
      yield* parts.filter((line) => line !== "");
    }
    rest += decoder.decode();
    if (rest !== "") yield rest;
  } finally {
    await iterator.return?.();
  }
}

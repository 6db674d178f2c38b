import type { X509Certificate } from "node:crypto";
import type { Dispatcher } from "undici";
import type { TenantContext } from "../program/limits.ts";
import { sleep } from "../program/time.ts";
import {
  type Call,
  collectText,
  createByteLimit,
  createRateLimiter,
  readLines,
  readResponse,
  retryDelayMs,
  startCall,
  type TransportResponse,
} from "./call.ts";
import { createDispatcher, type KubeConnection } from "./connection.ts";
import { KubeError, readRetryAfterMs, toKubeError } from "./errors.ts";

export const APPLY_PATCH = "application/apply-patch+yaml";

export interface TransportRequest {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Absolute path below the server, already encoded. */
  path: string;
  query?: Record<string, string | number | boolean | undefined> | undefined;
  /** Sent as JSON. */
  body?: unknown;
  contentType?: string | undefined;
  /** Default "application/json". */
  accept?: string | undefined;
  /** Deadline of the whole call, retries included. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Whose share of the rate it takes, and whose signal ends it too; without one the service itself asks. */
  tenant?: TenantContext | undefined;
  /** "clusters": the label of the request metrics. */
  kindPlural?: string | undefined;
  /** Checked right before every attempt; false ends the call with a KubeError, reason "NotAllowed". */
  mayStillSend?: (() => boolean) | undefined;
}

export interface StreamRequest extends Omit<TransportRequest, "method" | "body" | "contentType" | "tenant"> {
  /** Without a byte for this long, the stream ends with a KubeError (default 150 000: bookmarks come every minute). */
  idleTimeoutMs?: number | undefined;
  /** A line of more characters ends the stream with a KubeError, reason "TooLarge" (default: no limit). */
  maxLineLength?: number | undefined;
  /** So does one line more, empty ones included (default: no limit). */
  maxLines?: number | undefined;
}

export interface RequestInfo {
  method: string;
  kindPlural: string;
  /** 0 without a response. */
  status: number;
  seconds: number;
}

export interface TransportOptions {
  connection: KubeConnection;
  /** Requests per second (default 100). */
  qps?: number | undefined;
  /** Default 200. */
  burst?: number | undefined;
  /** Default 25 000: more than two admission webhooks of 10 s each. */
  timeoutMs?: number | undefined;
  /** A longer body of a response ends its call with a KubeError (default: no limit). */
  maxResponseBytes?: number | undefined;
  /** For a stream, which is not held as a whole (default `maxResponseBytes`). */
  maxStreamBytes?: number | undefined;
  /** The bodies of all responses together; the byte after them ends its call with a KubeError, reason "TooLarge". */
  maxTotalBytes?: number | undefined;
  userAgent?: string | undefined;
  /** Called with the server's certificate after each TLS handshake; never through a proxy. */
  onCertificate?: ((certificate: X509Certificate) => void) | undefined;
  /** Called once per attempt; for a stream when its headers arrived. */
  onRequest?: ((info: RequestInfo) => void) | undefined;
}

export interface Transport {
  /** Any response of the server, also an error; rejects with a KubeError, status 0, without one within the deadline. */
  request(request: TransportRequest): Promise<TransportResponse>;
  /** The lines of a 200 response; a KubeError for any other. One attempt: a watcher has its own backoff. */
  openStream(request: StreamRequest): Promise<AsyncIterable<string>>;
  /** Closes every connection and rejects the calls in progress. */
  close(): Promise<void>;
}

/**
 * A pool of HTTP/1.1 connections to one API server. Requests are retried within their deadline (call.ts), a 401 once
 * with refreshed credentials. Redirects are not followed. Requests for a tenant wait in its queue.
 */
export function createTransport(options: TransportOptions): Transport {
  const { connection } = options;
  const defaultTimeoutMs = options.timeoutMs ?? 25_000;
  const server = new URL(connection.server);
  const basePath = server.pathname.replace(/\/+$/, "");
  const rateLimiter = createRateLimiter({ perSecond: options.qps ?? 100, burst: options.burst ?? 200 });
  const { maxStreamBytes, maxTotalBytes } = options;
  const dispatcher = createDispatcher(options);
  const streams =
    maxStreamBytes === undefined
      ? dispatcher
      : createDispatcher({ ...options, maxResponseBytes: maxStreamBytes });
  const limit = maxTotalBytes === undefined ? undefined : createByteLimit(maxTotalBytes);
  const readBody = limit && ((body: Dispatcher.ResponseData["body"]) => collectText(limit(body)));

  async function send(
    request: TransportRequest,
    signal: AbortSignal,
    through = dispatcher,
  ): Promise<Dispatcher.ResponseData> {
    if (!(await rateLimiter.wait(signal, request.tenant))) throw signal.reason;
    const sendOnce = (refresh: boolean) => sendThrough(through, request, signal, refresh);
    const first = await sendOnce(false);
    if (first.statusCode !== 401 || connection.readHeaders === undefined) return first;
    await first.body.dump();
    return sendOnce(true);
  }

  async function sendThrough(
    through: Dispatcher,
    request: TransportRequest,
    signal: AbortSignal,
    refresh: boolean,
  ) {
    const authentication = await connection.readHeaders?.(refresh);
    if (request.mayStillSend?.() === false) throw notAllowed(request);
    const startedAt = performance.now();
    let status = 0;
    try {
      const sent = through.request({
        origin: server.origin,
        method: request.method,
        path: basePath + request.path + toQueryString(request.query),
        headers: {
          accept: request.accept ?? "application/json",
          "user-agent": options.userAgent ?? "marina",
          ...authentication,
          ...(request.body !== undefined && { "content-type": request.contentType ?? "application/json" }),
        },
        body: request.body === undefined ? null : JSON.stringify(request.body),
        signal,
      });
      const response = await untilAborted(sent, signal);
      status = response.statusCode;
      return response;
    } finally {
      options.onRequest?.({
        method: request.method,
        kindPlural: request.kindPlural ?? "",
        status,
        seconds: (performance.now() - startedAt) / 1000,
      });
    }
  }

  return {
    async request(request) {
      const call = startCall({ signal: signalOf(request) }, request.timeoutMs ?? defaultTimeoutMs);
      try {
        for (let attempt = 1; ; attempt++) {
          const outcome = await attemptRequest(request, call, async () =>
            readResponse(await send(request, call.signal), readBody),
          );
          const waitMs = retryDelayMs({ ...outcome, attempt, remainingMs: call.remainingMs() });
          if (waitMs === undefined) {
            if (outcome.response === undefined) throw outcome.error;
            return outcome.response;
          }
          if (!(await sleep(waitMs, call.signal))) throw call.toError(call.signal.reason, describe(request));
        }
      } finally {
        call.end();
      }
    },

    async openStream(request) {
      const get = { ...request, method: "GET" as const };
      const call = startCall(request, request.timeoutMs ?? defaultTimeoutMs);
      try {
        const response = await send(get, call.signal, streams);
        if (response.statusCode !== 200)
          throw toKubeError(await readResponse(response, readBody), describe(get));
        call.clearDeadline();
        return streamLines(limit?.(response.body) ?? response.body, call, request);
      } catch (error) {
        call.end();
        throw call.toError(error, describe(get));
      }
    },

    async close() {
      await Promise.all([dispatcher.destroy(), streams.destroy()]);
    },
  };
}

/** Undici ends a request that waits for its connection only when that is made or has failed, up to 10 s later. */
function untilAborted<T>(sent: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    void sent.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

type Outcome = { idempotent: boolean; status: number; retryAfterMs?: number | undefined } & (
  | { response: TransportResponse; error?: never }
  | { response?: never; error: KubeError }
);

async function attemptRequest(
  request: TransportRequest,
  call: Call,
  send: () => Promise<TransportResponse>,
): Promise<Outcome> {
  const idempotent =
    request.method === "GET" || request.method === "DELETE" || request.contentType === APPLY_PATCH;
  try {
    const response = await send();
    const { status, headers } = response;
    const retryAfterMs = status < 300 ? undefined : readRetryAfterMs(headers["retry-after"]);
    return { idempotent, status, retryAfterMs, response };
  } catch (error) {
    return { idempotent, status: 0, error: call.toError(error, describe(request)) };
  }
}

async function* streamLines(
  body: AsyncIterable<Uint8Array>,
  call: Call,
  request: StreamRequest,
): AsyncGenerator<string> {
  const { idleTimeoutMs = 150_000, maxLineLength, maxLines } = request;
  const description = describe({ ...request, method: "GET" });
  const onIdle = () =>
    call.abort(
      new KubeError({
        status: 0,
        reason: "Idle",
        kubeMessage: `no data for ${idleTimeoutMs} ms`,
        request: description,
      }),
    );
  try {
    yield* readLines(body, idleTimeoutMs, onIdle, { maxLength: maxLineLength, maxLines });
  } catch (error) {
    throw call.toError(error, description);
  } finally {
    call.end();
  }
}

function toQueryString(query: TransportRequest["query"]): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
}

function notAllowed(request: TransportRequest): KubeError {
  const kubeMessage = "this process may no longer write";
  return new KubeError({ status: 0, reason: "NotAllowed", kubeMessage, request: describe(request) });
}

/** Aborts with the signal of the call and with that of the request which it is made for. */
function signalOf({ signal, tenant }: TransportRequest): AbortSignal | undefined {
  const ended = tenant?.signal;
  if (signal === undefined || ended === undefined) return signal ?? ended;
  return AbortSignal.any([signal, ended]);
}

function describe(request: TransportRequest): string {
  return `${request.method} ${request.path}`;
}

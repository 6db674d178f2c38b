import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { type RequestOptions, request as startRequest } from "node:https";
import { AttemptError } from "./error-class.ts";

export interface ReceivedResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** At most `maxBodyBytes`, and less when the connection broke or the body took too long. */
  body: Buffer;
}

export interface ExchangeOptions {
  body: Uint8Array | string;
  /** On the clock of `performance.now()`, in milliseconds. */
  deadline: number;
  maxBodyBytes: number;
  signal?: AbortSignal | undefined;
}

/** Informational responses (1xx) before the final one; a server sends one or two. */
const MAX_INFORMATIONAL = 20;

/** An error of a connection that was kept and that the server had closed before it could read the request. */
export class StaleConnectionError extends Error {}

/**
 * Sends one request and reads its response. Once status and headers are there, a failure, the deadline or the abort only shortens
 * the body; before, it rejects with the connection's error, an AttemptError `timeout` or `protocol`, or the signal's reason.
 * The connection is closed unless the whole response was read.
 */
export function exchange(options: RequestOptions, limits: ExchangeOptions): Promise<ReceivedResponse> {
  const { body, deadline, maxBodyBytes, signal } = limits;
  return new Promise((resolve, reject) => {
    const request = startRequest(options);
    const chunks: Buffer[] = [];
    let response: IncomingMessage | undefined;
    let informational = 0;

    const stop = () => {
      clearTimeout(timer);
      forgetAbort?.();
    };
    const finish = (incoming: IncomingMessage) => {
      stop();
      const read = Buffer.concat(chunks).subarray(0, maxBodyBytes);
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: read });
    };
    const breakOff = (error: Error) => {
      if (response === undefined) {
        stop();
        reject(error);
      } else finish(response);
      request.destroy();
    };
    const timer = setTimeout(
      () => breakOff(new AttemptError("timeout", "there was no response in time")),
      Math.max(0, deadline - performance.now()),
    );
    const forgetAbort = signal && onAbort(signal, () => breakOff(signal.reason as Error));

    request.on("error", (error) => {
      breakOff(
        request.reusedSocket && isClosed(error) ? new StaleConnectionError("", { cause: error }) : error,
      );
    });
    request.on("information", () => {
      informational += 1;
      if (informational > MAX_INFORMATIONAL)
        breakOff(new AttemptError("protocol", "the server sent informational responses without an end"));
    });
    request.on("upgrade", () => {
      breakOff(new AttemptError("protocol", "the server switched to another protocol"));
    });
    request.on("response", (incoming) => {
      response = incoming;
      let size = 0;
      incoming.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size >= maxBodyBytes) breakOff(new Error("the response is longer than what is read"));
      });
      incoming.on("end", () => finish(incoming));
      incoming.on("error", breakOff);
    });
    request.end(body);
  });
}

function isClosed(error: NodeJS.ErrnoException): boolean {
  return error.code === "ECONNRESET" || error.code === "EPIPE";
}

const callbacksOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal aborts; returns what undoes that. A signal has one listener for all callbacks: to add or
 * remove one of many listeners takes a signal longer the more there are.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = callbacksOf.get(signal) ?? listenOnce(signal);
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

function listenOnce(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>();
  callbacksOf.set(signal, callbacks);
  signal.addEventListener("abort", () => {
    for (const callback of callbacks) callback();
  });
  return callbacks;
}

/** The three forms of a date in HTTP (RFC 9110 section 5.6.7): IMF-fixdate, RFC 850 and asctime. */
const IMF_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC850_DATE = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * The delay that a Retry-After header asks for (RFC 9110 section 10.2.3), in milliseconds from `now`, never negative
 * and without an upper bound; 0 for a date that has passed. Undefined when there is none and for text of any other
 * form.
 */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d{1,12}$/.test(text)) return Number(text) * 1000;
  const time = parseDate(text);
  return Number.isNaN(time) ? undefined : Math.max(0, time - now.getTime());
}

function parseDate(text: string): number {
  if (IMF_DATE.test(text) || RFC850_DATE.test(text)) return Date.parse(text);
  return ASCTIME_DATE.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

import { Agent, errors, request } from "undici";
import { clientDisconnected } from "../../http/errors.ts";
import { BackendError } from "./backend.ts";

/** One request has this long: a registry that takes longer counts as not available. */
const TIMEOUT_MS = 5000;
const MAX_CONNECTIONS = 32;
/** The largest manifest that a registry takes is 4 MiB (distribution, `maxManifestBodySize`). */
const MAX_RESPONSE_BYTES = 5 * 1024 * 1024;

export interface BackendRequest {
  method: "GET" | "HEAD" | "DELETE" | "POST";
  url: string;
  headers: Record<string, string>;
  body?: string;
  /** Aborts when no caller waits for the response any more. */
  signal?: AbortSignal;
}

export interface BackendResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Sends one request. Throws BackendError when no whole response came in time, 400 once its signal has aborted. */
export type SendToBackend = (request: BackendRequest) => Promise<BackendResponse>;

/** A sender with a separate connection pool. */
export function createBackendSender(
  timeoutMs = TIMEOUT_MS,
  maxResponseBytes = MAX_RESPONSE_BYTES,
): SendToBackend {
  const dispatcher = new Agent({
    connections: MAX_CONNECTIONS,
    maxResponseSize: maxResponseBytes,
    connect: { timeout: timeoutMs },
  });
  return async ({ url, signal: ended, ...options }) => {
    const late = AbortSignal.timeout(timeoutMs);
    const signal = ended === undefined ? late : AbortSignal.any([late, ended]);
    try {
      const response = await request(url, { ...options, dispatcher, signal });
      return { status: response.statusCode, headers: response.headers, text: await response.body.text() };
    } catch (error) {
      if (ended?.aborted === true) throw clientDisconnected(error);
      throw toBackendError(error, late.aborted);
    }
  };
}

/** A sender whose requests end when the signal aborts. */
export function sendUntil(signal: AbortSignal, send: SendToBackend): SendToBackend {
  return (request) => send({ ...request, signal });
}

function toBackendError(error: unknown, isLate: boolean): BackendError {
  if (isLate || error instanceof errors.ConnectTimeoutError)
    return new BackendError("timeout", "the registry did not respond in time", { cause: error });
  if (error instanceof errors.ResponseExceededMaxSizeError)
    return new BackendError("failed", "the registry responds with more than it may", { cause: error });
  return new BackendError("unreachable", "the registry cannot be reached", { cause: error });
}

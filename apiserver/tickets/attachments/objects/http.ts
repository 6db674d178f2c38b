import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { Agent, errors, request } from "undici";

/** Why the store of attachments did not do what it was asked to. */
export type StoreFailure =
  | "unconfigured"
  | "unreachable"
  | "timeout"
  | "no_credentials"
  | "bucket_missing"
  | "refused"
  | "failed";

/** The store of attachments cannot be used right now. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly failure: StoreFailure;

  constructor(failure: StoreFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** One request has this long: a store that takes longer counts as not available. */
const TIMEOUT_MS = 5000;
const MAX_CONNECTIONS = 16;
const MAX_RESPONSE_BYTES = 65_536;

export interface StoreRequest {
  method: string;
  url: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface StoreResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Sends one request. Throws StoreError when no whole response came in time. */
export type SendToStore = (request: StoreRequest) => Promise<StoreResponse>;

/** A sender with a separate connection pool, which trusts the public authorities and those of `caFile`. */
export function createStoreSender(caFile: string | undefined, timeoutMs = TIMEOUT_MS): SendToStore {
  const ca = caFile === undefined ? {} : { ca: [...rootCertificates, readFileSync(caFile, "utf8")] };
  const dispatcher = new Agent({
    connections: MAX_CONNECTIONS,
    maxResponseSize: MAX_RESPONSE_BYTES,
    connect: { ...ca, timeout: timeoutMs },
  });
  return async ({ url, ...options }) => {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const response = await request(url, { ...options, dispatcher, signal } as Parameters<
        typeof request
      >[1]);
      return {
        status: response.statusCode,
        headers: response.headers,
        text: await response.body.text(),
      };
    } catch (error) {
      throw toStoreError(error, signal.aborted);
    }
  };
}

function toStoreError(error: unknown, isLate: boolean): StoreError {
  if (isLate || error instanceof errors.ConnectTimeoutError)
    return new StoreError("timeout", "the store did not respond in time", { cause: error });
  return new StoreError("unreachable", "the store cannot be reached", { cause: error });
}

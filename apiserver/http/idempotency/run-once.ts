import { createHash } from "node:crypto";
import type { Context } from "hono";
import type { ContentfulStatusCode, StatusCode } from "hono/utils/http-status";
import { createId } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import type { HttpEnv } from "../env.ts";
import { ApiError, type ErrorCode } from "../errors.ts";
import type { IdempotencyClaim, IdempotencyStore, StoredResponse } from "./store.ts";

declare const RAN_ONCE: unique symbol;

/** A response that was made under the request's Idempotency-Key; the handler of a POST must return one. */
export type Once<T> = T & { readonly [RAN_ONCE]: true };

/** One attempt of a POST. */
export interface Attempt {
  /** The id of the record to create; a repeated request gets the id of the first. */
  id: string;
  /** The value that the first attempt stored, or the one passed now. */
  storedValue: string | null;
  /** An earlier attempt ended without a response; its effect may be there. */
  resumed: boolean;
}

/**
 * Stores the response in the transaction of the effect, so that neither exists without the other. Without it the
 * response is stored right after `run`, and after a crash in between the next attempt has `resumed`.
 */
export type StoreOnce = <R extends Response>(tx: Queryable, response: R) => Promise<R>;

export interface OnceOptions<T> {
  /**
   * How an attempt finds the effect of an earlier one that ended without a response, whatever has changed since: a function
   * responds with it, undefined = it is not there; `run` where `run` finds it by the attempt's id, or changes nothing twice.
   */
  resume: "run" | ((attempt: Attempt) => Promise<T | undefined>);
  /**
   * Stored together with the id: the name of the custom resource to create, or what else `resume` needs of the time
   * before; where that has to be read, a function, which is not called for a repetition whose response is stored.
   */
  storedValue?: string | (() => Promise<string | undefined>) | undefined;
  /** The response holds a secret: its body is not stored, a replay is 409 conflict naming the record. */
  secret?: boolean;
}

/** One POST: its caller and path, its Idempotency-Key if any, and its body. */
interface KeyedRequest {
  scope: string;
  userId: string;
  key: string | undefined;
  /** Its JSON; undefined without a body. */
  body: unknown;
  /** Nothing is created: the key is validated, and not claimed. */
  isDryRun?: boolean;
  /** Confirms the caller's right, before what an earlier attempt has made is found and handed out. */
  confirm: () => Promise<unknown>;
}

/** The largest body of a response that is kept beside its key. Those of records in Postgres are bounded by their schemas: 192 KiB. */
const MAX_KEPT_BYTES = 65_536;
const KEPT_HEADERS = ["content-type", "location", "etag", "retry-after"];
/**
 * Refusals of the credential, of the caller's right and of what the path names. A request gets them before its key is claimed,
 * which stores nothing; found in the transaction of the effect, they are not stored either: a right can be given back.
 */
const NEVER_STORED: ReadonlySet<ErrorCode> = new Set(["unauthorized", "forbidden", "not_found"]);
const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/**
 * Runs a POST at most once per key and replays its response, to who still has the right; without a key it just runs. Stored are
 * 2xx responses and refusals that waiting does not change; a 5xx, a 401, a 403, a 404, or one with Retry-After leaves only id and
 * name, and a refused body nothing: its key can be sent again with a corrected one. A response of more than 64 KiB that is not
 * stored in the transaction of its effect is made anew by `resume` when it is asked for again.
 */
export async function runOnce<T extends Response>(
  c: Context<HttpEnv>,
  store: IdempotencyStore,
  request: KeyedRequest,
  options: OnceOptions<T>,
  run: (attempt: Attempt, storeResponse: StoreOnce) => Promise<T>,
): Promise<T> {
  const withoutValue = request.key === undefined ? undefined : toClaim(request, request.key, null);
  let storedValue: string | null;
  if (typeof options.storedValue === "function") {
    const stored = withoutValue === undefined ? undefined : await store.find(withoutValue);
    if (stored !== undefined) return (await replay(c, request, stored)) as T;
    storedValue = (await options.storedValue()) ?? null;
  } else storedValue = options.storedValue ?? null;
  const claim = withoutValue && { ...withoutValue, objectName: storedValue };
  if (claim === undefined || request.isDryRun === true) {
    const attempt = { id: claim?.id ?? createId(), storedValue, resumed: false };
    return run(attempt, async (_tx, response) => response);
  }
  const result = await store.claim(claim);
  // A replay is the stored form of a response that was a T.
  if (result.outcome === "replay") return (await replay(c, request, result.response)) as T;
  const { id, objectName, resumed } = result;
  const attempt = { id, storedValue: objectName, resumed };
  return runClaimed(store, { ...claim, id }, options, async (storeResponse) => {
    if (!resumed || options.resume === "run") return run(attempt, storeResponse);
    await request.confirm();
    return (await options.resume(attempt)) ?? run(attempt, storeResponse);
  });
}

async function runClaimed<T extends Response>(
  store: IdempotencyStore,
  claim: IdempotencyClaim,
  options: Pick<OnceOptions<T>, "secret">,
  run: (storeResponse: StoreOnce) => Promise<T>,
): Promise<T> {
  const toStored = (response: Response) => toStoredResponse(response, options.secret === true);
  let isStored = false;
  let response: T;
  try {
    response = await run(async (tx, made) => {
      await store.complete(claim, await toStored(made), tx);
      isStored = true;
      return made;
    });
  } catch (error) {
    await completeFailure(store, claim, error);
    throw error;
  }
  if (isStored) return response;
  const stored = await toStored(response);
  if (Buffer.byteLength(stored.body) > MAX_KEPT_BYTES) await store.release(claim);
  else await store.complete(claim, stored);
  return response;
}

async function completeFailure(
  store: IdempotencyStore,
  claim: IdempotencyClaim,
  error: unknown,
): Promise<void> {
  if (!(error instanceof ApiError)) return store.release(claim);
  const { code, message, details, retryAfterSeconds } = error;
  if (code === "validation_failed") return store.forget(claim);
  const isFinal = error.status < 500 && retryAfterSeconds === undefined && !NEVER_STORED.has(code);
  if (!isFinal) return store.release(claim);
  const body = JSON.stringify({ code, message, details });
  await store.complete(claim, { status: error.status, headers: {}, body });
}

function toClaim(request: KeyedRequest, key: string, objectName: string | null): IdempotencyClaim {
  if (!KEY_PATTERN.test(key)) {
    throw new ApiError("bad_request", "Idempotency-Key must be 1 to 255 visible ASCII characters.");
  }
  const { scope, userId, body } = request;
  return { scope, userId, key, bodyHash: hashBody(body), id: createId(), objectName };
}

/** The SHA-256 of a body; equal JSON values have equal hashes. */
export function hashBody(body: unknown): string {
  const text = body === undefined ? "" : canonicalJson(body);
  return createHash("sha256").update(text).digest("hex");
}

async function toStoredResponse(response: Response, secret: boolean): Promise<StoredResponse> {
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  const body = secret ? "" : await response.clone().text();
  return { status: response.status, headers: Object.fromEntries(headers), body };
}

/** A stored refusal is thrown again, so that it carries the request id of the repeated request. */
async function replay(
  c: Context<HttpEnv>,
  { confirm }: KeyedRequest,
  stored: StoredResponse,
): Promise<Response> {
  await confirm();
  const { status, headers, body } = stored;
  if (status >= 400) {
    const { code, message, details } = JSON.parse(body);
    throw new ApiError(code, message, details === undefined ? {} : { details });
  }
  if (body === "" && status !== 204) {
    const where = headers.location ?? "the first response";
    throw new ApiError(
      "conflict",
      `This request was already carried out and its secret is shown once: ${where}.`,
    );
  }
  c.header("Idempotency-Replayed", "true");
  return body === ""
    ? c.body(null, status as StatusCode, headers)
    : c.body(body, status as ContentfulStatusCode, headers);
}

/**
 * The text of a JSON value by which equal values have equal texts, whatever their blanks and the order of their keys.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) =>
    isObject(entry)
      ? Object.fromEntries(Object.entries(entry).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : entry,
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

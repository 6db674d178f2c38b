import { createHash } from "node:crypto";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { createId } from "../../../shared/id.ts";
import type { Queryable } from "../../db/client.ts";
import type { HttpEnv, IdempotencyClaim, IdempotencyStore, StoredResponse } from "../env.ts";
import { ApiError } from "../errors.ts";

declare const RAN_ONCE: unique symbol;

/** A response that was made under the request's Idempotency-Key: what the handler of a POST has to return. */
export type Once<T> = T & { readonly [RAN_ONCE]: true };

/** What one attempt of a POST has to work with. */
export interface Attempt {
  /** The id of the record to make; a repeated request gets the id of the first. */
  id: string;
  /** The object name that the first attempt fixed, or the one passed now. */
  objectName: string | null;
  /** An earlier attempt ended without an outcome: look for `id` before making anything. */
  resumed: boolean;
  /**
   * Keeps the answer in the transaction of the effect, so that neither exists without the other. Call it last in that
   * transaction; without it the answer is kept right after `run`, and a crash in between leaves `resumed`.
   */
  settle: <A extends Response>(tx: Queryable, answer: A) => Promise<A>;
}

export interface OnceOptions {
  /** Name of the custom resource to make, fixed together with the id. */
  objectName?: string;
  /** The answer holds a secret: its body is not kept, a replay is 409 conflict naming the record. */
  secret?: boolean;
}

/** The identity of one POST: who sent it where, its Idempotency-Key if any, and what it asks for. */
export interface KeyedRequest {
  scope: string;
  key: string | undefined;
  bodyText: string;
  /** Nothing is made: the key is looked at, and not taken. */
  isDryRun?: boolean;
}

const KEPT_HEADERS = ["content-type", "location", "etag", "retry-after"];
const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/**
 * Runs a POST at most once per key and replays its outcome; without a key it just runs. Kept are 2xx answers and
 * refusals that will not change by waiting; a 5xx, or an answer that says "come again", leaves only id and name.
 */
export async function runOnce<T extends Response>(
  c: Context<HttpEnv>,
  store: IdempotencyStore,
  request: KeyedRequest,
  options: OnceOptions,
  run: (attempt: Attempt) => Promise<T>,
): Promise<T> {
  const objectName = options.objectName ?? null;
  if (request.key === undefined) {
    return run({ id: createId(), objectName, resumed: false, settle: async (_, answer) => answer });
  }
  const claim = toClaim(request, request.key, objectName);
  if (request.isDryRun === true)
    return run({ id: claim.id, objectName, resumed: false, settle: async (_, answer) => answer });
  const result = await store.claim(claim);
  // A replay is the kept form of an answer that was a T when it was made.
  if (result.outcome === "replay") return replay(c, result.answer) as T;
  return runClaimed(store, claim, options, (settle) => run({ ...result, settle }));
}

async function runClaimed<T extends Response>(
  store: IdempotencyStore,
  claim: IdempotencyClaim,
  options: OnceOptions,
  run: (settle: Attempt["settle"]) => Promise<T>,
): Promise<T> {
  const keep = async (answer: Response, tx?: Queryable) =>
    store.complete(claim, await toStoredResponse(answer, options.secret === true), tx);
  let settled = false;
  let answer: T;
  try {
    answer = await run(async (tx, made) => {
      await keep(made, tx);
      settled = true;
      return made;
    });
  } catch (error) {
    await settleFailure(store, claim, error);
    throw error;
  }
  if (!settled) await keep(answer);
  return answer;
}

async function settleFailure(
  store: IdempotencyStore,
  claim: IdempotencyClaim,
  error: unknown,
): Promise<void> {
  const settled = error instanceof ApiError && error.status < 500 && error.retryAfterSeconds === undefined;
  if (!settled) return store.release(claim);
  const { code, message, details } = error;
  const body = JSON.stringify({ code, message, details });
  await store.complete(claim, { status: error.status, headers: {}, body });
}

function toClaim(request: KeyedRequest, key: string, objectName: string | null): IdempotencyClaim {
  if (!KEY_PATTERN.test(key)) {
    throw new ApiError("bad_request", "Idempotency-Key must be 1 to 255 visible ASCII characters.");
  }
  const bodyHash = createHash("sha256").update(request.bodyText).digest("hex");
  return { scope: request.scope, key, bodyHash, id: createId(), objectName };
}

async function toStoredResponse(answer: Response, secret: boolean): Promise<StoredResponse> {
  const kept = KEPT_HEADERS.flatMap((name) => {
    const value = answer.headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  const body = secret ? "" : await answer.clone().text();
  return { status: answer.status, headers: Object.fromEntries(kept), body };
}

/** A kept refusal is thrown again, so that it carries the request id of the repeated request. */
function replay(c: Context<HttpEnv>, answer: StoredResponse): Response {
  if (answer.status >= 400) {
    const { code, message, details } = JSON.parse(answer.body);
    throw new ApiError(code, message, details === undefined ? {} : { details });
  }
  if (answer.body === "" && answer.status !== 204) {
    const where = answer.headers.location ?? "the first answer";
    throw new ApiError(
      "conflict",
      `This request was already carried out and its secret is shown once: ${where}.`,
    );
  }
  const headers = { ...answer.headers, "Idempotency-Replayed": "true" };
  const status = answer.status as ContentfulStatusCode;
  return answer.body === "" ? c.body(null, status, headers) : c.body(answer.body, status, headers);
}

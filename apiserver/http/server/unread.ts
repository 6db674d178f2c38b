import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { Context, MiddlewareHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type ByteBudget, findConsumers } from "../contract/byte-budget.ts";
import { isDryRun } from "../contract/caller.ts";
import { JSON_TYPE } from "../contract/download.ts";
import { STREAMED_FILE_BYTES, streamedFiles } from "../contract/stream-file.ts";
import type { HttpEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { handleError } from "../handle-error.ts";
import { jsonLengths } from "./compress.ts";

/** The headers of a response that do not describe the one that is sent instead. */
const OWN_HEADERS = ["Content-Disposition", "Content-Encoding", "Content-Length", "ETag", "Location"];
/** A file is read by the right that its reader had when it began. */
const MAX_FILE_MS = 3_600_000;
const STREAM_TYPE = /^text\/event-stream\b/;

/**
 * Counts the bytes of each response until its client has read them: one that still has some after `maxSeconds` is cut
 * off, and a streamed file once it has some of them that long, or after an hour. A read or dry run beyond the budget gets
 * 429 or 503 instead of its response, and one that is larger than its caller's share 400. What a write has done is reported
 * all the same: beyond the share of its caller or organization their oldest unread responses are cut off for it. Streams
 * have bounds of their own.
 */
export function limitUnread(budget: ByteBudget, maxSeconds: number): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const { incoming, outgoing } = c.env ?? {};
    if (incoming === undefined || outgoing === undefined) return next();
    recordJsonLengths(c);
    await next();
    if (outgoing.closed || !hasBody(c)) return;
    const file = streamedFiles.get(c.res);
    const bytes = file === undefined ? await readLength(c) : STREAMED_FILE_BYTES;
    // The client may have left meanwhile: then no event ends the allocation.
    if (outgoing.closed) return;
    // A response that waits behind another one of its connection has no socket itself yet.
    const cutOff = () => incoming.socket.destroy();
    const refusal = keepWithin(budget, c, { outgoing, bytes, cutOff, connection: incoming.socket });
    if (refusal !== undefined) replaceResponse(c, refusal);
    const deadline = setTimeout(cutOff, maxSeconds * 1000);
    const end = file && setTimeout(cutOff, MAX_FILE_MS);
    if (file !== undefined) file.onPiece = () => deadline.refresh();
    outgoing.once("close", () => {
      clearTimeout(deadline);
      clearTimeout(end);
    });
  };
}

/** Has the length of each JSON body remembered: to read a body for it costs more than the rest of a short read. */
function recordJsonLengths(c: Context<HttpEnv>): void {
  const respond = (
    value: unknown,
    status?: ContentfulStatusCode,
    headers?: Record<string, string>,
  ): Response => {
    const text = JSON.stringify(value);
    const response = c.body(text, status, { "Content-Type": JSON_TYPE, ...headers });
    jsonLengths.set(response, Buffer.byteLength(text));
    return response;
  };
  c.json = respond as typeof c.json;
}

/** The bytes of the response. A body of unknown length is read whole for it, which copies it several times. */
async function readLength(c: Context<HttpEnv>): Promise<number> {
  const known = jsonLengths.get(c.res) ?? Number(c.res.headers.get("content-length") ?? Number.NaN);
  if (Number.isInteger(known)) return known;
  const { status, headers } = c.res;
  const bytes = new Uint8Array(await c.res.arrayBuffer());
  replaceResponse(c, new Response(bytes, { status, headers }));
  return bytes.byteLength;
}

/** Counts the bytes of a response until it is closed; returns the refusal that is sent instead of a read. */
function keepWithin(
  budget: ByteBudget,
  c: Context<HttpEnv>,
  {
    outgoing,
    bytes,
    cutOff,
    connection,
  }: {
    outgoing: ServerResponse | Http2ServerResponse;
    bytes: number;
    cutOff: () => void;
    connection: object;
  },
): Response | undefined {
  const consumers = findConsumers(c);
  const allocation = budget.open(consumers, cutOff, connection);
  outgoing.once("close", () => allocation.close());
  try {
    const hasChanged = c.req.method !== "GET" && !isDryRun(c.get("input")?.query);
    if (!hasChanged && c.res.status < 400) {
      const share = budget.findShare(consumers);
      if (bytes > share) throw tooLarge(bytes, share);
      allocation.add(bytes);
    } else allocation.addUnchecked(bytes);
    if (hasChanged && c.res.status < 400) allocation.makeRoom();
    return undefined;
  } catch (error) {
    const refusal = handleError(error, c);
    for (const name of OWN_HEADERS) refusal.headers.delete(name);
    refusal.headers.set("Cache-Control", "private, no-cache");
    return refusal;
  }
}

/** Without Retry-After: it is as large the next time. */
function tooLarge(bytes: number, share: number): ApiError {
  return new ApiError(
    "bad_request",
    `This response would have ${bytes} bytes, and one may have ${share}; ask for less at once, or for another form of it.`,
  );
}

/** Hono would merge the headers of the present response into an assigned one: it becomes undefined first. */
function replaceResponse(c: Context<HttpEnv>, response: Response): void {
  c.res = undefined;
  c.res = response;
}

function hasBody(c: Context<HttpEnv>): boolean {
  if (c.req.method === "HEAD" || c.res.status === 204 || c.res.status === 304) return false;
  return !STREAM_TYPE.test(c.res.headers.get("content-type") ?? "");
}

import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { Context, MiddlewareHandler } from "hono";
import { type ByteBudget, findHolders } from "../contract/byte-budget.ts";
import type { HttpEnv } from "../env.ts";
import { handleError } from "../handle-error.ts";

/** The headers of a response that do not describe the one that is sent instead. */
const OWN_HEADERS = ["Content-Disposition", "Content-Encoding", "Content-Length", "ETag", "Location"];
const STREAM_TYPE = /^text\/event-stream\b/;

/**
 * Counts the bytes of each response until its client has read them: one that still has some after `maxSeconds` is cut
 * off. A read beyond the budget gets 429 or 503 instead of its response; what a write has done is reported all the same.
 * Streams have bounds of their own.
 */
export function limitUnread(budget: ByteBudget, maxSeconds: number): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    await next();
    const { incoming, outgoing } = c.env ?? {};
    if (incoming === undefined || outgoing === undefined || outgoing.closed || !hasBody(c)) return;
    const response = await keepWithin(budget, c, outgoing);
    // Assigned to a response that is there, its headers would be joined with those.
    c.res = undefined;
    c.res = response;
    // A response that waits behind another one of its connection has no socket itself yet.
    const deadline = setTimeout(() => incoming.socket.destroy(), maxSeconds * 1000);
    outgoing.once("close", () => clearTimeout(deadline));
  };
}

/** The response with its bytes counted, or the one that refuses a read. */
async function keepWithin(
  budget: ByteBudget,
  c: Context<HttpEnv>,
  outgoing: ServerResponse | Http2ServerResponse,
): Promise<Response> {
  const { status, headers } = c.res;
  const bytes = new Uint8Array(await c.res.arrayBuffer());
  const account = budget.open(findHolders(c));
  outgoing.once("close", () => account.close());
  try {
    if (c.req.method === "GET" && status < 400) account.add(bytes.byteLength);
    else account.force(bytes.byteLength);
  } catch (error) {
    const refusal = handleError(error, c);
    for (const name of OWN_HEADERS) refusal.headers.delete(name);
    refusal.headers.set("Cache-Control", "private, no-cache");
    return refusal;
  }
  return new Response(bytes, { status, headers });
}

function hasBody(c: Context<HttpEnv>): boolean {
  if (c.req.method === "HEAD" || c.res.status === 204 || c.res.status === 304) return false;
  return !STREAM_TYPE.test(c.res.headers.get("content-type") ?? "");
}

import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Context, MiddlewareHandler } from "hono";
import { accepts } from "hono/accepts";
import type { HttpEnv } from "../env.ts";

const MIN_BYTES = 1024;
const COMPRESSED_TYPES = /^(application\/(json|yaml)|text\/html)\b/;

/** The length in bytes of each body of JSON, set by limitUnread: a body need not be read to be measured. */
export const jsonLengths = new WeakMap<Response, number>();

/** The bytes in gzip, without blocking the event loop. */
export const compress = promisify<Buffer, Buffer>(gzip);

/** Whether the client wants gzip (RFC 9110 section 12.5.3); it must name it. */
export function wantsGzip(c: Context<HttpEnv>): boolean {
  const supports = ["gzip", "identity"];
  return accepts(c, { header: "Accept-Encoding", supports, default: "identity" }) === "gzip";
}

/**
 * Compresses responses of 1 kB and more on request; never a stream. The ETag is not changed: it names the version of
 * the record rather than the bytes, and If-Match accepts no weak one, as middleware of Hono would make it.
 */
export function compressResponses(): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    await next();
    if (!COMPRESSED_TYPES.test(c.res.headers.get("content-type") ?? "")) return;
    if (c.res.headers.has("content-encoding")) return;
    // Not by c.header(), which makes a stream of the body once there is a response.
    c.res.headers.append("Vary", "Accept-Encoding");
    if (!wantsGzip(c) || c.req.method === "HEAD") return;
    if ((jsonLengths.get(c.res) ?? MIN_BYTES) < MIN_BYTES) return;
    const { status, headers } = c.res;
    const bytes = Buffer.from(await c.res.arrayBuffer());
    const isLarge = bytes.byteLength >= MIN_BYTES;
    const sent = isLarge ? await compress(bytes) : bytes;
    const response = new Response(new Uint8Array(sent), { status, headers });
    if (isLarge) response.headers.set("Content-Encoding", "gzip");
    response.headers.delete("Content-Length");
    c.res = undefined;
    c.res = response;
  };
}

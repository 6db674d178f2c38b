import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Context, MiddlewareHandler } from "hono";
import { accepts } from "hono/accepts";
import { MAX_ACCEPT_LENGTH } from "../contract/download.ts";
import type { HttpEnv } from "../env.ts";

const MIN_BYTES = 1024;
const COMPRESSED_TYPES = /^(application\/(json|yaml)|text\/html)\b/;

/** No budget counts what is being compressed: a body with which it would be more is sent as it is, unless it is the only one. */
const MAX_BYTES_AT_ONCE = 8_388_608;

/** The length in bytes of each body of JSON, set by limitUnread: a body need not be read to be measured. */
export const jsonLengths = new WeakMap<Response, number>();

/** The bytes in gzip, without blocking the event loop. */
export const compress = promisify<Buffer, Buffer>(gzip);

/** Whether the client wants gzip (RFC 9110 section 12.5.3); it must name it. */
export function wantsGzip(c: Context<HttpEnv>): boolean {
  if ((c.req.header("accept-encoding") ?? "").length > MAX_ACCEPT_LENGTH) return false;
  const supports = ["gzip", "identity"];
  return accepts(c, { header: "Accept-Encoding", supports, default: "identity" }) === "gzip";
}

/**
 * Compresses responses of 1 kB and more on request; never a stream. The ETag is not changed: it names the version of
 * the record rather than the bytes, and If-Match accepts no weak one, as middleware of Hono would make it.
 */
export function compressResponses(): MiddlewareHandler<HttpEnv> {
  let bytesNow = 0;
  return async (c, next) => {
    await next();
    if (!COMPRESSED_TYPES.test(c.res.headers.get("content-type") ?? "")) return;
    if (c.res.headers.has("content-encoding")) return;
    // Not by c.header(), which makes a stream of the body once there is a response.
    c.res.headers.append("Vary", "Accept-Encoding");
    if (!wantsGzip(c) || c.req.method === "HEAD") return;
    const length = jsonLengths.get(c.res) ?? Number(c.res.headers.get("content-length") ?? MIN_BYTES);
    if (length < MIN_BYTES || (bytesNow > 0 && bytesNow + length > MAX_BYTES_AT_ONCE)) return;
    bytesNow += length;
    try {
      const { status, headers } = c.res;
      const bytes = Buffer.from(await c.res.arrayBuffer());
      const isLarge = bytes.byteLength >= MIN_BYTES;
      const sent = isLarge ? await compress(bytes) : bytes;
      const response = new Response(new Uint8Array(sent), { status, headers });
      if (isLarge) response.headers.set("Content-Encoding", "gzip");
      response.headers.delete("Content-Length");
      c.res = undefined;
      c.res = response;
    } finally {
      bytesNow -= length;
    }
  };
}

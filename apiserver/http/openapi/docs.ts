import { createHash } from "node:crypto";
import type { Context } from "hono";
import { isNotModified } from "../contract/etag.ts";
import type { Router } from "../contract/router.ts";
import type { HttpEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { createTokenBuckets, toAddressKey } from "../rate-limits/rate-limit.ts";
import { compress, wantsGzip } from "../server/compress.ts";
import { PAGE_POLICY } from "./docs-assets.ts";
import { buildReference, MAX_SEARCH_LENGTH, type Reference } from "./docs-page.ts";
import { buildDocument, type OpenApiDocument } from "./document.ts";

/** Each has at most the bytes of the entries that a search shows. */
const KEPT_SEARCHES = 50;

/**
 * Searches that are not kept: each takes the processor for some 20 ms, so all of them a tenth of it, and those of one
 * address a hundredth.
 */
const SEARCH_RATES = { ofAddress: { burst: 10, perMinute: 30 }, ofProcess: { burst: 30, perMinute: 300 } };

/** A text that is the same as long as this process runs, in both of its encodings. */
interface Static {
  plain: Uint8Array<ArrayBuffer>;
  gzip: Uint8Array<ArrayBuffer>;
  tag: string;
}

/**
 * Serves the OpenAPI document as /openapi.json and as the page /docs, to which / and /docs/ redirect. Both are built and
 * compressed at the first request; caches keep them for five minutes, and then ask by ETag whether they have changed.
 * The query `q` of the page searches it; the last searches are kept, since they cost more than most requests, and others
 * are 429 beyond the rates of an address and of all.
 */
export function addDocumentRoutes(router: Router, publicUrl: string): void {
  let document: OpenApiDocument | undefined;
  let json: Promise<Static> | undefined;
  let reference: Promise<Reference> | undefined;
  let page: Promise<Static> | undefined;
  const searches = new Map<string, Promise<Static>>();
  const read = () => {
    document ??= buildDocument(router);
    return document;
  };

  const countSearch = createSearchLimit();
  const search = (c: Context<HttpEnv>, built: Reference, query: string) => {
    if (!searches.has(query)) countSearch(c);
    const found = searches.get(query) ?? built.search(query).then(prepare);
    searches.delete(query);
    searches.set(query, found);
    if (searches.size > KEPT_SEARCHES) searches.delete(searches.keys().next().value ?? query);
    return found;
  };

  router.app.get("/openapi.json", async (c) => {
    c.set("route", "/openapi.json");
    router.limiter.countAnonymous(c);
    json ??= prepare(JSON.stringify(read()));
    return serve(c, await json, "application/json");
  });
  router.app.get("/docs", async (c) => {
    c.set("route", "/docs");
    router.limiter.countAnonymous(c);
    reference ??= buildReference(read(), publicUrl);
    page ??= reference.then((built) => prepare(built.page));
    c.header("Content-Security-Policy", PAGE_POLICY);
    const query = c.req.query("q")?.trim().slice(0, MAX_SEARCH_LENGTH).trim() ?? "";
    return serve(
      c,
      await (query === "" ? page : search(c, await reference, query)),
      "text/html; charset=UTF-8",
    );
  });
  for (const path of ["/", "/docs/"]) {
    router.app.get(path, (c) => {
      c.set("route", path);
      router.limiter.countAnonymous(c);
      return c.redirect("/docs");
    });
  }
}

/** Counts a search, by its address and with all others. Throws 429. */
function createSearchLimit(): (c: Context<HttpEnv>) => void {
  const ofAddress = createTokenBuckets(SEARCH_RATES.ofAddress);
  const ofProcess = createTokenBuckets(SEARCH_RATES.ofProcess);
  const count = (buckets: typeof ofAddress, key: string) => {
    const { allowed, retryAfterSeconds } = buckets.take(key);
    if (allowed) return;
    const message = `Too many searches; try again in ${retryAfterSeconds} s.`;
    throw new ApiError("rate_limited", message, { retryAfterSeconds });
  };
  return (c) => {
    count(ofAddress, toAddressKey(c.get("sourceAddress") ?? ""));
    count(ofProcess, "");
  };
}

async function prepare(text: string): Promise<Static> {
  const tag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
  const plain = new TextEncoder().encode(text);
  return { plain, gzip: new Uint8Array(await compress(Buffer.from(plain))), tag };
}

/** The tag is weak, since it names both encodings. */
function serve(c: Context<HttpEnv>, { plain, gzip, tag }: Static, contentType: string): Response {
  c.header("Cache-Control", "public, max-age=300");
  c.header("ETag", `W/${tag}`);
  if (isNotModified(c.req.header("if-none-match"), tag)) return c.body(null, 304);
  c.header("Content-Type", contentType);
  const isCompressed = wantsGzip(c);
  const bytes = isCompressed ? gzip : plain;
  c.header("Content-Length", String(bytes.byteLength));
  if (isCompressed) {
    c.header("Content-Encoding", "gzip");
    c.header("Vary", "Accept-Encoding");
  }
  return c.body(bytes, 200);
}

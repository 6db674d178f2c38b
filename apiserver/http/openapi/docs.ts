import { createHash } from "node:crypto";
import type { Context } from "hono";
import { isNotModified } from "../contract/etag.ts";
import type { Router } from "../contract/router.ts";
import type { HttpEnv } from "../env.ts";
import { compress, wantsGzip } from "../server/compress.ts";
import { buildReference, type Reference } from "./docs-page.ts";
import { buildDocument, type OpenApiDocument } from "./document.ts";

const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/** A text that is the same as long as this process runs, in both of its encodings. */
interface Static {
  text: string;
  gzip: Buffer;
  tag: string;
}

/**
 * Serves the OpenAPI document as /openapi.json and as the page /docs, to which / and /docs/ redirect. Both are built and
 * compressed at the first request; caches keep them for five minutes, and then ask by ETag whether they have changed.
 * The query `q` of the page searches it.
 */
export function addDocumentRoutes(router: Router, publicUrl: string): void {
  let document: OpenApiDocument | undefined;
  let json: Promise<Static> | undefined;
  let reference: Promise<Reference> | undefined;
  let page: Promise<Static> | undefined;
  const read = () => {
    document ??= buildDocument(router);
    return document;
  };

  router.app.get("/openapi.json", async (c) => {
    c.set("route", "/openapi.json");
    json ??= prepare(JSON.stringify(read()));
    return serve(c, await json, "application/json");
  });
  router.app.get("/docs", async (c) => {
    c.set("route", "/docs");
    reference ??= buildReference(read(), publicUrl);
    page ??= reference.then((built) => prepare(built.page));
    c.header("Content-Security-Policy", PAGE_POLICY);
    const query = c.req.query("q")?.trim() ?? "";
    const shown = query === "" ? page : prepare(await (await reference).search(query));
    return serve(c, await shown, "text/html; charset=UTF-8");
  });
  for (const path of ["/", "/docs/"]) {
    router.app.get(path, (c) => {
      c.set("route", path);
      return c.redirect("/docs");
    });
  }
}

async function prepare(text: string): Promise<Static> {
  const tag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
  return { text, gzip: await compress(Buffer.from(text)), tag };
}

/** The tag is weak, since it names both encodings. */
function serve(c: Context<HttpEnv>, { text, gzip, tag }: Static, contentType: string): Response {
  c.header("Cache-Control", "public, max-age=300");
  c.header("ETag", `W/${tag}`);
  if (isNotModified(c.req.header("if-none-match"), tag)) return c.body(null, 304);
  c.header("Content-Type", contentType);
  if (!wantsGzip(c)) return c.body(text, 200);
  c.header("Content-Encoding", "gzip");
  c.header("Vary", "Accept-Encoding");
  return c.body(new Uint8Array(gzip), 200);
}

import type { Router } from "../contract/router.ts";
import { renderReference } from "./docs-page.ts";
import { buildDocument, type OpenApiDocument } from "./document.ts";

/** Serves the OpenAPI document as /openapi.json and as the page /docs; both are built at the first request. */
export function addDocumentRoutes(router: Router): void {
  let document: OpenApiDocument | undefined;
  let text: string | undefined;
  let page: string | undefined;
  const read = () => {
    document ??= buildDocument(router.operations);
    return document;
  };

  router.app.get("/openapi.json", (c) => {
    c.set("route", "/openapi.json");
    text ??= JSON.stringify(read());
    return c.body(text, 200, { "Content-Type": "application/json" });
  });
  router.app.get("/docs", async (c) => {
    c.set("route", "/docs");
    page ??= await renderReference(read());
    c.header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
    return c.html(page);
  });
}

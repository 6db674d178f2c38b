import { gunzipSync } from "node:zlib";
import { Hono } from "hono";
import { expect, test } from "vitest";
import type { HttpEnv } from "../env.ts";
import { compressResponses } from "./compress.ts";

const LARGE = { text: "a".repeat(2000) };

function anApp() {
  const app = new Hono<HttpEnv>();
  app.use(compressResponses());
  app.get("/half", (c) => c.json(LARGE, 200, { "Content-Length": "5000000" }));
  app.get("/large", (c) => c.json(LARGE, 200, { ETag: '"3"' }));
  app.get("/small", (c) => c.json({ a: 1 }, 200, { ETag: '"3"' }));
  app.get("/stream", (c) => c.body("a".repeat(2000), 200, { "Content-Type": "text/event-stream" }));
  app.get("/none", (c) => c.body(null, 304, { ETag: '"3"' }));
  return app;
}

test("1 kB and more is compressed on request, with its status, headers and strong tag", async () => {
  const response = await anApp().request("/large", { headers: { "accept-encoding": "br, gzip" } });
  expect(response.headers.get("content-encoding")).toBe("gzip");
  expect(response.headers.get("vary")).toBe("Accept-Encoding");
  expect(response.headers.get("etag")).toBe('"3"');
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(bytes.byteLength).toBeLessThan(200);
  expect(JSON.parse(gunzipSync(bytes).toString())).toEqual(LARGE);
});

test("what is compressed at once has 8 MiB at most, and the rest is sent as it is", async () => {
  const { request } = anApp();
  const ask = () => request("/half", { headers: { "accept-encoding": "gzip" } });
  const responses = [...(await Promise.all([ask(), ask()])), await ask()];
  expect(responses.map(({ headers }) => headers.get("content-encoding"))).toEqual(["gzip", null, "gzip"]);
});

test.each([
  ["a small response", "/small", "gzip"],
  ["a stream", "/stream", "gzip"],
  ["a response without a body", "/none", "gzip"],
  ["for a client that does not ask for it", "/large", undefined],
  ["for a client that refuses it", "/large", "gzip;q=0, identity"],
  ["for a client of another encoding", "/large", "br"],
  ["for a client that names too many", "/large", `gzip${",a".repeat(511)}`],
])("%s is sent as it is", async (_what, path, acceptEncoding) => {
  const headers = acceptEncoding === undefined ? {} : { "accept-encoding": acceptEncoding };
  const plain = await anApp().request(path);
  const response = await anApp().request(path, { headers });
  expect(response.headers.get("content-encoding")).toBeNull();
  expect(await response.text()).toBe(await plain.text());
});

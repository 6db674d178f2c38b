import { Hono } from "hono";
import { expect, test } from "vitest";
import { createLogger } from "../../../shared/program/log.ts";
import { Registry } from "../../../shared/program/metrics.ts";
import type { HttpEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { handleError, handleUnmatched } from "../handle-error.ts";
import { observe } from "./observe.ts";

const EVERY = {
  "x-content-type-options": "nosniff",
  "strict-transport-security": "max-age=31536000; includeSubDomains",
  "content-security-policy": "frame-ancestors 'none'",
};

function anApp() {
  const lines: string[] = [];
  const log = createLogger({ name: "x", level: "debug", destination: { write: (line) => lines.push(line) } });
  const registry = new Registry();
  const app = new Hono<HttpEnv>();
  app.use(observe(log, registry));
  app.onError(handleError);
  app.notFound(handleUnmatched());
  app.get("/json", (c) => c.json({ a: 1 }, 200, { ETag: '"1"' }));
  app.get("/empty", (c) => c.body(null, 304, { ETag: '"1"' }));
  app.get("/text", (c) => c.body("text", 200, { "Content-Type": "text/plain", "Cache-Control": "no-store" }));
  app.get("/refused", () => {
    throw new ApiError("rate_limited", "Too many.", { retryAfterSeconds: 3, headers: { Allow: "GET" } });
  });
  return { app, lines, registry };
}

test("a long path is cut in the log between two characters, which says so", async () => {
  const { app, lines } = anApp();
  await app.request(`/${"a".repeat(1022)}😀`);
  expect(JSON.parse(lines[0] ?? "").path).toBe(`/${"a".repeat(1022)}… (cut)`);
});

test.each([
  ["/json", 200, { etag: '"1"', "content-type": "application/json", "cache-control": "private, no-cache" }],
  ["/empty", 304, { etag: '"1"', "content-type": null, "cache-control": "private, no-cache" }],
  ["/text", 200, { "content-type": "text/plain", "cache-control": "no-store" }],
  ["/refused", 429, { "retry-after": "3", allow: "GET", "content-type": "application/json" }],
  ["/nowhere", 404, { "content-type": "application/json" }],
])(
  "%s has its own headers, those of every response, one log line and one count",
  async (path, status, headers) => {
    const { app, lines, registry } = anApp();
    const response = await app.request(path, { headers: { "x-request-id": "mine" } });
    expect(response.status).toBe(status);
    const requestId = response.headers.get("x-request-id");
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
    const expected = { ...headers, ...EVERY };
    const got = Object.keys(expected).map((name) => [name, response.headers.get(name)]);
    expect(Object.fromEntries(got)).toEqual(expected);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { msg: "request", requestId, clientRequestId: "mine", method: "GET", path, status },
    ]);
    expect(await registry.metrics()).toContain(
      `marina_apiserver_http_requests_total{method="GET",route="unmatched",status="${status}"} 1`,
    );
  },
);

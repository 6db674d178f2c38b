import { Hono } from "hono";
import { expect, test } from "vitest";
import { createLogger } from "../../../shared/program/log.ts";
import { createRegistry } from "../../../shared/program/metrics.ts";
import { makePrincipal } from "../../testing/membership.ts";
import type { Principal } from "../authentication/principal.ts";
import { TokenRefusal, toTokenError } from "../authentication/token-refusal.ts";
import type { HttpEnv } from "../env.ts";
import { handleError } from "../handle-error.ts";
import { observe } from "./observe.ts";

const user = makePrincipal("0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11");
const token: Principal = {
  kind: "token",
  tokenId: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  userId: user.userId,
  orgId: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
  version: 1,
  emailVerified: false,
  emailTrusted: false,
  roles: [],
  expiresAtMs: 0,
};

/** One request to `/things/7`, with the response `status` for `principal`: its log line, and the metrics after it. */
async function observeRequest(principal: Principal | undefined, status: 200 | 500) {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const log = createLogger({ name: "test", level: "debug", destination: { write } });
  const registry = createRegistry();
  const app = new Hono<HttpEnv>();
  app.use(observe(log, registry));
  app.get("/things/:id", (c) => {
    c.set("route", "/things/{id}");
    c.set("principal", principal);
    return c.text("", status);
  });
  await app.request("/things/7?secret=s3cret", { headers: { "x-request-id": "r-1" } });
  return { line: lines.at(-1), text: JSON.stringify(lines), figures: await registry.metrics() };
}

test.each([
  ["a user", user, `user:${user.userId}`],
  ["an API token, not its creator", token, `token:${token.tokenId}`],
])("the line of a request names %s, with id, route, status and duration", async (_who, principal, id) => {
  const { line, text } = await observeRequest(principal, 200);
  expect(line).toMatchObject({
    level: "info",
    requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    clientRequestId: "r-1",
    principal: id,
    method: "GET",
    route: "/things/{id}",
    path: "/things/7",
    status: 200,
    ms: expect.any(Number),
  });
  expect(text).not.toContain("s3cret");
});

test("a request without a principal is logged at debug, unless it failed", async () => {
  expect((await observeRequest(undefined, 200)).line).toMatchObject({ level: "debug" });
  expect((await observeRequest(undefined, 500)).line).toMatchObject({ level: "info" });
});

test("a refused token is logged with the id of the request, the step and the facts, which the response does not have", async () => {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const app = new Hono<HttpEnv>();
  app.use(observe(createLogger({ name: "test", level: "info", destination: { write } }), createRegistry()));
  app.onError(handleError);
  app.get("/", () => {
    throw toTokenError(new TokenRefusal("audience not accepted", { kid: "k-1", accepted: ["marina"] }));
  });
  const response = await app.request("/");
  const requestId = response.headers.get("x-request-id");
  expect(lines[0]).toMatchObject({
    level: "info",
    msg: "token refused",
    requestId,
    step: "audience not accepted",
    kid: "k-1",
    accepted: ["marina"],
  });
  expect(response.status).toBe(401);
  expect(await response.json()).toEqual({
    error: {
      code: "unauthorized",
      message: "The bearer token is not valid: audience not accepted.",
      request_id: requestId,
    },
  });
});

test("requests, failures and durations are counted by route", async () => {
  const { figures } = await observeRequest(user, 500);
  const labels = 'method="GET",route="/things/{id}"';
  expect(figures).toContain(`marina_apiserver_http_requests_total{${labels},status="500"} 1`);
  expect(figures).toContain(`marina_apiserver_http_request_duration_seconds_count{${labels}} 1`);
  expect(figures).toContain(`marina_apiserver_http_request_duration_seconds_bucket{le="30",${labels}} 1`);
  expect(figures).toMatch(/^nodejs_eventloop_lag_p99_seconds \d/m);
});

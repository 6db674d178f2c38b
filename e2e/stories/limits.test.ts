import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { fetchConforming } from "../contract/openapi/conformance.ts";
import { findSeenFolder } from "../contract/seen/seen.ts";
import { readPartEnvironment } from "../platform/stack/part-environment.ts";
import { readStack, waitFor } from "../platform/stack/testing.ts";
import { createTenant } from "../testing/tenant.ts";

const BUNDLE = join(import.meta.dirname, "..", "..", "dist", "apiserver.js");
/** What was used up does not come back while a test runs. */
const PER_MINUTE = 0.001;

let own: ChildProcess | undefined;
let url = "";

afterEach(async () => {
  if (own === undefined || own.exitCode !== null || own.signalCode !== null) return;
  own.kill("SIGKILL");
  await once(own, "exit");
  own = undefined;
});

/** A second API server in addition to the stack's own, with tighter limits. */
async function startOwn(changes: Record<string, string>): Promise<void> {
  const env = {
    ...readPartEnvironment("apiserver"),
    MARINA_PORT: "0",
    MARINA_METRICS_PORT: "0",
    MARINA_ROLES: "api",
    ...changes,
  };
  const file = join(findSeenFolder() ?? tmpdir(), `limits-${randomUUID()}.log`);
  const log = openSync(file, "a");
  own = spawn(process.execPath, [BUNDLE], { env, stdio: ["ignore", log, log] });
  closeSync(log);
  const { address, metricsPort } = await waitFor("the second API server to listen", () => {
    const lines = readFileSync(file, "utf8").split("\n");
    return JSON.parse(lines.find((line) => line.includes('"listening"')) ?? "null");
  });
  url = address;
  await waitFor(
    "the second API server",
    async () => (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).ok,
  );
}

const get = (path: string, headers: Record<string, string> = {}) =>
  fetchConforming(`${url}${path}`, {
    headers: { authorization: `Bearer ${readStack().tokens.alice}`, ...headers },
  });

test("a principal over its rate limit gets 429, and the remaining quota before", async () => {
  await startOwn({ MARINA_RATE_LIMITS: JSON.stringify({ default: { burst: 3, perMinute: PER_MINUTE } }) });
  const outcomes: string[] = [];
  for (let n = 0; n < 4; n++) {
    const response = await get("/api/v1/me");
    outcomes.push(`${response.status} ${response.headers.get("ratelimit")?.split(";t=")[0]}`);
    await response.body?.cancel();
  }
  expect(outcomes).toEqual([
    '200 "default";r=2',
    '200 "default";r=1',
    '200 "default";r=0',
    '429 "default";r=0',
  ]);
  const refused = await get("/api/v1/me");
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await refused.json()).toMatchObject({ error: { code: "rate_limited" } });
  const neighbour = await get("/api/v1/me", { authorization: `Bearer ${readStack().tokens.bob}` });
  expect(neighbour.status).toBe(200);
});

test("kubeconfigs, invitations and API tokens have their own rate limits", async () => {
  const few = { burst: 1, perMinute: PER_MINUTE };
  await startOwn({
    MARINA_RATE_LIMITS: JSON.stringify({ kubeconfig: few, invitation: few, token_creation: few }),
  });
  const alice = createTenant(readStack().apiUrl, readStack().tokens.alice);
  const { body } = await alice.request("POST", "/organizations", { name: "Few of these" });
  const organization = `/api/v1/organizations/${body.id}`;
  const cluster = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
  const post = (path: string) =>
    fetchConforming(`${url}${organization}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${readStack().tokens.alice}`, "content-type": "application/json" },
      body: "{}",
    });
  const statusesOf = async (ask: () => Promise<Response>) => [(await ask()).status, (await ask()).status];
  expect(await statusesOf(() => get(`${organization}/clusters/${cluster}/kubeconfig`))).toEqual([404, 429]);
  expect(await statusesOf(() => post("/members"))).toEqual([422, 429]);
  expect(await statusesOf(() => post("/api-tokens"))).toEqual([422, 429]);
  expect((await get("/api/v1/me")).status).toBe(200);
});

test("an address that guesses tokens is blocked; X-Forwarded-For counts only from a configured proxy", async () => {
  const rates = JSON.stringify({ failed_login: { burst: 2, perMinute: PER_MINUTE } });
  const guess = (from: string) =>
    get("/api/v1/me", { authorization: "Bearer guess", "x-forwarded-for": from });
  await startOwn({ MARINA_RATE_LIMITS: rates });
  const unbelieved = [await guess("192.0.2.1"), await guess("192.0.2.2"), await guess("192.0.2.3")];
  expect(unbelieved.map(({ status }) => status)).toEqual([401, 401, 429]);
  own?.kill("SIGKILL");
  await once(own as ChildProcess, "exit");

  await startOwn({ MARINA_RATE_LIMITS: rates, MARINA_TRUSTED_PROXIES: "127.0.0.0/8" });
  const believed = [await guess("192.0.2.1"), await guess("192.0.2.1"), await guess("192.0.2.1")];
  expect(believed.map(({ status }) => status)).toEqual([401, 401, 429]);
  expect((await guess("192.0.2.9")).status).toBe(401);
});

test("the maximum size of bodies and URLs is configurable", async () => {
  await startOwn({ MARINA_MAX_BODY_BYTES: "2048", MARINA_MAX_URL_BYTES: "600" });
  const response = await fetchConforming(`${url}/api/v1/organizations`, {
    method: "POST",
    headers: { authorization: `Bearer ${readStack().tokens.alice}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "a".repeat(3000) }),
  });
  expect(response.status).toBe(413);
  expect((await get(`/api/v1/organizations?cursor=${"a".repeat(700)}`)).status).toBe(400);
});

test("an invalid setting fails the start and is named", async () => {
  const env = {
    ...readPartEnvironment("apiserver"),
    MARINA_RATE_LIMITS: '{"default":{"burst":0}}',
    MARINA_TRUSTED_PROXIES: "10.0.0.0/99",
  };
  own = spawn(process.execPath, [BUNDLE], { env, stdio: ["ignore", "ignore", "pipe"] });
  let complaint = "";
  own.stderr?.on("data", (chunk) => (complaint += String(chunk)));
  // Its output may still be read after its exit.
  const [code] = await once(own, "close");
  expect(code).toBe(1);
  expect(complaint).toContain("MARINA_RATE_LIMITS");
  expect(complaint).toContain("MARINA_TRUSTED_PROXIES");
});

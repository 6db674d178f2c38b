import { Hono } from "hono";
import { beforeEach, expect, test } from "vitest";
import { createClient, type KubeClient } from "../../../shared/kube/client.ts";
import { namespaceKind } from "../../../shared/kube/core-kinds.ts";
import { createKeyedSlots, createSharedSlots, type TenantContext } from "../../../shared/program/limits.ts";
import { makePrincipal } from "../../testing/membership.ts";
import type { Membership } from "../authorization/permissions.ts";
import type { HttpEnv } from "../env.ts";
import { handleError } from "../handle-error.ts";
import {
  bindToTenant,
  type RequestKind,
  type RunningRequest,
  runWithTenantSlot,
  type TenantLimits,
} from "./tenant-slot.ts";

/** What the handler of each request saw, and the function that ends it. */
let running: { tenant: string; request: RunningRequest; end: () => void }[];
let limits: TenantLimits;
beforeEach(() => {
  running = [];
  limits = {
    writes: createKeyedSlots(2),
    dryRuns: createKeyedSlots(1),
    computations: createSharedSlots({ perKey: 1, all: 2 }),
  };
});

const app = new Hono<HttpEnv>();
app.onError(handleError);
app.get("/:tenant/:kind", async (c) => {
  const tenant = c.req.param("tenant");
  c.set("requestId", "r");
  c.set("membership", { orgId: tenant } as Membership);
  c.set("principal", makePrincipal("u"));
  const kind = c.req.param("kind").replace("-", " ") as RequestKind;
  await runWithTenantSlot(c, { limits, kind, deadlineMs: 60_000 }, async (request) => {
    await request.acquireSlot();
    if (c.req.query("computes") !== undefined) await request.acquireComputation();
    await new Promise<void>((end) => running.push({ tenant, request, end }));
  });
  return c.text("done");
});

const send = (path: string, signal?: AbortSignal) =>
  Promise.resolve(app.request(path, signal === undefined ? {} : { signal }));
const settle = () => new Promise((resolve) => setImmediate(resolve));

test.each([
  ["write", 2],
  ["dry-run", 1],
])("of a tenant at most so many requests of kind %s are under way: %d", async (kind, most) => {
  const responses = [send(`/a/${kind}`), send(`/a/${kind}`), send(`/a/${kind}`), send(`/b/${kind}`)];
  await settle();
  expect(running.map(({ tenant }) => tenant)).toEqual([...Array(most).fill("a"), "b"]);
  for (let ended = 0; ended < responses.length; ended++) {
    running[ended]?.end();
    await settle();
  }
  expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

test("512 requests of a tenant wait, and the next one is refused at once, while another tenant's are served", async () => {
  const waiting = Array.from({ length: 1 + 512 }, () => send("/a/dry-run"));
  await settle();
  expect((await send("/a/dry-run")).status).toBe(429);
  void send("/b/dry-run");
  await settle();
  expect(running.map(({ tenant }) => tenant)).toEqual(["a", "b"]);
  running[0]?.end();
  expect((await waiting[0])?.status).toBe(200);
});

test("reads wait for nothing", async () => {
  for (let n = 0; n < 5; n++) void send("/a/read");
  await settle();
  expect(running).toHaveLength(5);
});

test("of reads that compute for long, one of a tenant and two of the process are under way", async () => {
  for (const tenant of ["a", "a", "b", "c"]) void send(`/${tenant}/read?computes`);
  await settle();
  const tenants = () => running.map(({ tenant }) => tenant);
  expect(tenants()).toEqual(["a", "b"]);
  void send("/a/read");
  await settle();
  expect(tenants()).toEqual(["a", "b", "a"]);
  running[0]?.end();
  await settle();
  expect(tenants()).toEqual(["a", "b", "a", "c"]);
  running[1]?.end();
  await settle();
  expect(tenants()).toEqual(["a", "b", "a", "c", "a"]);
});

test.each([
  ["read", true],
  ["dry-run", true],
  ["write", false],
])("a client that has gone ends a %s that has not begun, and one that has: %s", async (kind, ends) => {
  const client = new AbortController();
  void send(`/a/${kind}`, client.signal).catch(() => undefined);
  await settle();
  const request = running[0]?.request;
  const signals = [request?.signal, request?.databaseContext.signal];
  client.abort();
  expect(signals.map((signal) => signal?.aborted ?? false)).toEqual([ends, true]);
  request?.detachFromClient?.();
  expect(request?.databaseContext.signal?.aborted ?? false).toBe(ends);
});

test("a client that has gone while it waited is not served, and holds no slot", async () => {
  void send("/a/dry-run");
  const client = new AbortController();
  const gone = send("/a/dry-run", client.signal);
  const next = send("/a/dry-run");
  await settle();
  client.abort();
  expect((await gone).status).toBe(400);
  running[0]?.end();
  await settle();
  expect(running).toHaveLength(2);
  running[1]?.end();
  expect((await next).status).toBe(200);
});

const OPTIONS = { fieldManager: "me", timeoutMs: 5 };
const CALLS: Record<Exclude<keyof KubeClient, "watch">, (kube: KubeClient) => Promise<unknown>> = {
  get: (kube) => kube.get(namespaceKind, undefined, "n"),
  list: (kube) => kube.list(namespaceKind),
  listAll: (kube) => kube.listAll(namespaceKind, OPTIONS),
  listKinds: (kube) => kube.listKinds(),
  create: (kube) => kube.create(namespaceKind, { metadata: { name: "n" } }, OPTIONS),
  apply: (kube) => kube.apply(namespaceKind, { metadata: { name: "n" } }, OPTIONS),
  mergePatch: (kube) => kube.mergePatch(namespaceKind, undefined, "n", {}, OPTIONS),
  jsonPatch: (kube) => kube.jsonPatch(namespaceKind, undefined, "n", [], OPTIONS),
  delete: (kube) => kube.delete(namespaceKind, undefined, "n"),
};

test.each(Object.entries(CALLS))("%s of a request's client is sent for its tenant", async (_name, call) => {
  const sent: (TenantContext | undefined)[] = [];
  const kube = createClient({
    async request({ tenant }) {
      sent.push(tenant);
      return { status: 200, headers: {}, body: { metadata: { name: "n" }, items: [] } };
    },
    openStream: () => Promise.reject(new Error("no streams here")),
    close: async () => undefined,
  });
  const tenant = { tenant: "a", isDryRun: true, signal: undefined };
  await call(bindToTenant(kube, tenant)).catch(() => undefined);
  expect(new Set(sent)).toEqual(new Set([tenant]));
});

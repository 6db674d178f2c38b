import { afterEach, expect, test } from "vitest";
import { createKubeMetrics } from "../kube/metrics.ts";
import { createLogger } from "../program/log.ts";
import { createRegistry } from "../program/metrics.ts";
import { createRuntimeMetrics } from "./metrics.ts";
import { type Checks, type HealthServer, startHealthServer } from "./server.ts";

let server: HealthServer | undefined;
afterEach(async () => {
  await server?.close();
});

async function serve(options: { healthz?: Checks; readyz?: Checks; nowMs?: () => number }) {
  const registry = createRegistry();
  const log = createLogger({ name: "test", level: "silent" });
  server = await startHealthServer({
    address: "127.0.0.1",
    port: 0,
    registry,
    healthz: {},
    readyz: {},
    log,
    ...options,
  });
  const { port } = server;
  const get = async (path: string, method = "GET") => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    return { status: response.status, text: await response.text() };
  };
  return { registry, get, log, port };
}

test("an endpoint returns 200 while all its checks pass", async () => {
  const { get } = await serve({
    healthz: { loop: () => true },
    readyz: { caches: () => Promise.resolve(true) },
  });
  expect(await get("/healthz")).toEqual({ status: 200, text: "[+]loop ok\n" });
  expect(await get("/readyz?verbose")).toEqual({ status: 200, text: "[+]caches ok\n" });
});

test("an endpoint returns 503 and names the check that failed or threw", async () => {
  const broken = () => {
    throw new Error("broken check");
  };
  const { get } = await serve({ readyz: { good: () => true, bad: () => false, broken } });
  expect(await get("/readyz")).toEqual({
    status: 503,
    text: "[+]good ok\n[-]bad failed\n[-]broken failed\n",
  });
});

test("a check without a result within two seconds has failed", async () => {
  const { get } = await serve({ readyz: { late: () => new Promise(() => undefined), quick: () => true } });
  expect(await get("/readyz")).toEqual({ status: 503, text: "[-]late failed\n[+]quick ok\n" });
});

test.each([
  ["a second after all passed", 1000, true],
  ["a tenth of a second after one failed", 100, false],
])("however often a page is read, its checks run once, and again %s", async (_, keptMs, passed) => {
  let nowMs = 0;
  let runs = 0;
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<boolean>();
  const counted = () => {
    runs += 1;
    begun.resolve();
    return ended.promise;
  };
  const { get } = await serve({ readyz: { counted }, nowMs: () => nowMs });
  const pages = [get("/readyz")];
  await begun.promise;
  nowMs = 1500;
  for (let page = 1; page < 20; page++) pages.push(get("/readyz"));
  // Requested after them, so that they have come when this one is served.
  await get("/metrics");
  ended.resolve(passed);
  await Promise.all(pages);
  nowMs += keptMs - 1;
  await get("/readyz");
  expect(runs).toBe(1);
  nowMs += 1;
  await get("/readyz");
  expect(runs).toBe(2);
});

test("nothing else is served", async () => {
  const { get } = await serve({});
  expect((await get("/")).status).toBe(404);
  expect((await get("/metrics", "POST")).status).toBe(405);
});

test("a port in use fails the start", async () => {
  const { registry, log, port } = await serve({});
  const again = startHealthServer({ address: "127.0.0.1", port, registry, healthz: {}, readyz: {}, log });
  await expect(again).rejects.toThrow("EADDRINUSE");
});

test("/metrics has every runtime metric under the given prefix", async () => {
  const { registry, get } = await serve({});
  const kube = createKubeMetrics(registry, "maker");
  const { controller, onLeader, onEvent } = createRuntimeMetrics(registry, "maker");
  kube.onRequest({ method: "GET", kindPlural: "things", status: 200, seconds: 0.01 });
  kube.onRestart("things", "gone");
  kube.onSize("things", 3);
  controller.onDepth("thing", 2);
  controller.onWait("thing", 0.5);
  controller.onReconcile("thing", "error", 0.2);
  controller.onActive("thing", 1);
  onLeader(true);
  onEvent("written");
  const { text } = await get("/metrics");
  for (const line of [
    'maker_kube_requests_total{method="GET",kind="things",status="200"} 1',
    'maker_kube_request_duration_seconds_count{method="GET",kind="things"} 1',
    'maker_watch_restarts_total{kind="things",reason="gone"} 1',
    'maker_cache_objects{kind="things"} 3',
    'maker_queue_depth{controller="thing"} 2',
    'maker_queue_wait_seconds_count{controller="thing"} 1',
    'maker_reconciles_total{controller="thing",result="error"} 1',
    'maker_reconcile_duration_seconds_count{controller="thing"} 1',
    'maker_active_workers{controller="thing"} 1',
    "maker_leader 1",
    'maker_events_total{result="written"} 1',
    "process_resident_memory_bytes",
  ]) {
    expect(text).toContain(line);
  }
});

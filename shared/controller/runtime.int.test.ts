import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { createClient, type KubeClient } from "../kube/client.ts";
import { loadConnection } from "../kube/connection.ts";
import { type ConfigMap, configMapKind, eventKind, leaseKind, namespaceKind } from "../kube/core-kinds.ts";
import { objectKey, splitKey } from "../kube/object.ts";
import { createReflector } from "../kube/reflector.ts";
import { createStore } from "../kube/store.ts";
import { startTestProxy, type TestProxy } from "../kube/testing-proxy.ts";
import { createTransport } from "../kube/transport.ts";
import { createLogger } from "../program/log.ts";
import { createController } from "./controller.ts";
import { createLeaderElection, SOLE_LEADER } from "./lease.ts";
import { createRecorder, type RecordedEvent } from "./recorder.ts";

const namespace = `runtime-test-${randomUUID()}`;
const log = createLogger({ name: "test", level: "silent" });
const me = { fieldManager: "me" };
let client: KubeClient;
let close: () => Promise<void>;

beforeAll(async () => {
  const transport = createTransport({ connection: loadConnection(readStack().kubeconfig) });
  client = createClient(transport);
  close = () => transport.close();
  await client.create(namespaceKind, { metadata: { name: namespace } }, me);
});
afterAll(async () => {
  await client.delete(namespaceKind, undefined, namespace);
  await close();
});

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0)) await step();
});

/**
 * A candidate for a Lease behind a separate proxy, that renews it more often than in production, and keeps it longer: a
 * pause of this process or of the API server must not end it.
 */
async function stand(identity: string, name = "leader", leaseDurationMs = 30_000) {
  const connection = loadConnection(readStack().kubeconfig);
  const proxy: TestProxy = await startTestProxy(connection.server);
  const transport = createTransport({ connection: { ...connection, server: proxy.url } });
  const transitions: string[] = [];
  const election = createLeaderElection({
    client: createClient(transport),
    namespace,
    name,
    identity,
    fieldManager: "me",
    leaseDurationMs,
    retryPeriodMs: 400,
    onLeader(leads) {
      if (leads) transitions.push("started");
    },
    onLost: () => transitions.push("lost"),
    log,
  });
  cleanUp.push(
    () => election.release(),
    () => transport.close(),
    () => proxy.close(),
  );
  return { election, proxy, transitions };
}

test("one of two candidates leads; disconnected it stops before the other starts", async () => {
  const [a, b] = [await stand("a"), await stand("b")];
  let both = 0;
  const watching = setInterval(() => {
    if (a.election.isLeader() && b.election.isLeader()) both += 1;
  }, 2);
  cleanUp.push(() => clearInterval(watching));

  a.election.start();
  await waitFor("the first leader", () => a.election.isLeader(), { intervalMs: 10 });
  b.election.start();
  const renewals = new Set<unknown>();
  await waitFor("three renewals, each a chance for the other", async () => {
    renewals.add((await client.get(leaseKind, namespace, "leader"))?.spec?.renewTime);
    return renewals.size > 3;
  });
  expect(b.election.isLeader()).toBe(false);

  a.proxy.freeze();
  await waitFor("the failover", () => b.election.isLeader(), { intervalMs: 10 });
  a.proxy.restore();
  await waitFor("the old leader to know", () => a.transitions.includes("lost"), { intervalMs: 10 });
  expect(a.election.isLeader()).toBe(false);

  expect(both).toBe(0);
  const lease = await client.get(leaseKind, namespace, "leader");
  expect(lease?.spec?.holderIdentity).toBe("b");
});

test("a released Lease is taken long before it would have expired", async () => {
  const hour = 3_600_000;
  const [a, b] = [await stand("a", "released", hour), await stand("b", "released", hour)];
  a.election.start();
  await waitFor("the first leader", () => a.election.isLeader());
  b.election.start();
  await a.election.release();
  await waitFor("the hand-over", () => b.election.isLeader());
  expect(a.election.isLeader()).toBe(false);
});

test("an Event is written once, however often and by however many processes it is recorded", async () => {
  const target = await client.apply(configMapKind, { metadata: { namespace, name: "target" } }, me);
  const event: RecordedEvent = {
    regarding: { apiVersion: "v1", kind: "ConfigMap", namespace, name: "target", uid: target.metadata.uid },
    related: { apiVersion: "v1", kind: "Namespace", name: namespace },
    type: "Warning",
    reason: "Tested",
    action: "Test",
    note: "It was tested",
    labels: { "things.test/source": "test" },
  };
  for (const reportingInstance of ["first", "second"]) {
    const recorder = createRecorder({
      client,
      reportingController: "things.test/r",
      reportingInstance,
      ...me,
      log,
    });
    recorder.record(event);
    recorder.record(event);
    recorder.record({ ...event, reason: "Mirrored", count: 5 });
    await recorder.flush(60_000);
  }
  const events = await client.listAll(eventKind, { namespace, labelSelector: "things.test/source=test" });
  expect(new Map(events.map(({ reason, series }) => [reason, series?.count]))).toEqual(
    new Map([
      ["Tested", 4],
      ["Mirrored", 5],
    ]),
  );
  expect(events).toHaveLength(2);
});

test("a controller brings every object to its desired state and then stays idle", async () => {
  const store = createStore<ConfigMap>();
  const stop = new AbortController();
  const stale: string[] = [];
  let runs = 0;
  const controller = createController({
    name: "configmap",
    leadership: SOLE_LEADER,
    log,
    async reconcile(key) {
      runs += 1;
      const object = store.get(key);
      if (object?.data?.wanted === undefined || object.data.wanted === object.data.done) return undefined;
      const { namespace: at, name } = splitKey(key);
      const live = await client.get(configMapKind, at, name);
      if (live?.data?.done === live?.data?.wanted) stale.push(key);
      const patch = { data: { done: object.data.wanted } };
      const written = await client.mergePatch(configMapKind, at, name, patch, me);
      controller.expect(key, store, written.metadata.resourceVersion ?? "");
      return undefined;
    },
  });
  const reflector = createReflector({
    client,
    kind: configMapKind,
    namespace,
    labelSelector: "things.test/kind=work",
    store,
    onChange: ({ object }) => controller.add(objectKey(object)),
    log,
  });
  reflector.start(stop.signal);
  await reflector.synced;
  controller.start();
  cleanUp.push(
    () => controller.drain(5_000),
    () => stop.abort(),
  );

  const names = Array.from({ length: 30 }, (_, nth) => `work-${nth}`);
  const labels = { "things.test/kind": "work" };
  await Promise.all(
    names.map((name) =>
      client.create(configMapKind, { metadata: { namespace, name, labels }, data: { wanted: "x" } }, me),
    ),
  );
  await waitFor(
    "all work done",
    () => store.size === 30 && store.list().every(({ data }) => data?.done === "x"),
    {
      intervalMs: 20,
    },
  );
  expect(stale).toEqual([]);
  // Keys are taken in turn: when the last one has run, so has everything that was queued before it.
  const last = { metadata: { namespace, name: "last", labels }, data: { wanted: "x" } };
  await client.create(configMapKind, last, me);
  await waitFor("the last one", () => store.get(`${namespace}/last`)?.data?.done === "x");
  expect(runs).toBeLessThanOrEqual(2 * (names.length + 1) + names.length);
});

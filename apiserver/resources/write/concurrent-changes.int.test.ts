import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type ApiProxy, openApiProxy } from "../../../e2e/faults/api-proxy.ts";
import { readStack, waitFor } from "../../../e2e/platform/stack/testing.ts";
import { startSecondApiserver } from "../../../e2e/testing/second-apiserver.ts";
import { createTenant } from "../../../e2e/testing/tenant.ts";
import { createClient } from "../../../shared/kube/client.ts";
import { loadConnection } from "../../../shared/kube/connection.ts";
import { KubeError } from "../../../shared/kube/errors.ts";
import { createTransport } from "../../../shared/kube/transport.ts";
import { createId } from "../../../shared/program/id.ts";
import { author } from "../../clusters/create/testing.ts";
import type { Deps } from "../../deps.ts";
import { asAuthorized, type Caller } from "../../http/contract/caller.ts";
import { clientDisconnected } from "../../http/errors.ts";
import { updateNodePool } from "../../node-pools/write.ts";
import type { TestApp, TestResponse } from "../../testing/app.ts";
import { startTestClusters } from "../../testing/service.ts";
import { withoutCallDeadlines } from "../../testing/transport.ts";
import { findCluster, findNodePool } from "../project/index.ts";

const POOL = { vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1, min_nodes: 0, max_nodes: 30 };

let api: TestApp;
let orgId: string;
let clusters: string;

beforeAll(async () => {
  ({ api, orgId, clusters } = await startTestClusters());
});
afterAll(() => api.close());

let count = 0;

/** A cluster of a plan whose clusters the stack refuses, so no machine is ever created for it. */
async function createCluster(): Promise<{ id: string; path: string }> {
  count += 1;
  const body = { name: `Cluster ${count}`, k8s_version: "1.34", plan: "scale" };
  const { id } = (await api.request("POST", clusters, { body })).body;
  return { id, path: `${clusters}/${id}` };
}

async function createPool(): Promise<{ clusterId: string; id: string; path: string }> {
  const cluster = await createCluster();
  const pools = `${cluster.path}/nodepools`;
  const { id } = (await api.request("POST", pools, { body: { ...POOL, name: "workers" } })).body;
  return { clusterId: cluster.id, id, path: `${pools}/${id}` };
}

/** Twenty values of one setting, none of which is the one that it has. */
const twenty = <T>(toValue: (index: number) => T) =>
  Array.from({ length: 20 }, (_, index) => toValue(index + 2));

/** For how long a PUT waits or is tried before it is refused; timers are some milliseconds early. */
const TRIED_FOR_MS: Readonly<Record<number, number>> = { 409: 24_900, 429: 19_900 };

/** The response to a PUT; undefined for a refusal that asks for a repetition, which comes only when its time is over. */
async function attempt(send: () => Promise<TestResponse>): Promise<TestResponse | undefined> {
  const sentAt = performance.now();
  const { status, headers, body } = await send();
  const triedForMs = TRIED_FOR_MS[status];
  expect(["conflict", "rate_limited", undefined]).toContain(body.error?.code);
  if (triedForMs === undefined) return { status, headers, body };
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  expect(performance.now() - sentAt).toBeGreaterThan(triedForMs);
  return undefined;
}

/** Repeats a PUT that a slow machine did not make in its time. */
async function untilMade(send: () => Promise<TestResponse>): Promise<TestResponse> {
  for (;;) {
    const response = await attempt(send);
    if (response !== undefined) return response;
  }
}

const putTo = (path: string) => (body: object) => () => api.request("PUT", path, { body });

/** The values of a setting in the order of its changes: each audit row of it begins where the one before it ended. */
async function readOrder(targetId: string, action: string, field: string, first: unknown) {
  const rows = await api.deps.sql`select action, before, after from audit_log where target_id = ${targetId}`;
  const changes = rows.filter((row) => row.action === action && row.after?.[field] !== undefined);
  const after = new Map(changes.map((row) => [JSON.stringify(row.before?.[field]), row.after?.[field]]));
  const order: unknown[] = [];
  for (
    let value = after.get(JSON.stringify(first));
    value !== undefined;
    value = after.get(JSON.stringify(value))
  )
    order.push(value);
  return { rows: changes.length, order };
}

const sorted = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value)).sort();

/** Sends a PUT for each value of a setting, all at once; expects that each is made once, and that the last of them stays. */
async function expectEachMade(
  { id, path, action, field }: { id: string; path: string; action: string; field: string },
  values: readonly unknown[],
  put: (body: object) => () => Promise<TestResponse> = putTo(path),
): Promise<void> {
  const { [field]: first } = (await api.request("GET", path)).body;
  const responses = await Promise.all(values.map((value) => untilMade(put({ [field]: value }))));
  expect(responses.map(({ body }) => body[field])).toEqual(values);
  const { rows, order } = await readOrder(id, action, field, first);
  expect([rows, sorted(order)]).toEqual([values.length, sorted(values)]);
  expect((await api.request("GET", path)).body[field]).toEqual(order.at(-1));
}

test.each([
  {
    noun: "node pool",
    create: createPool,
    action: "node_pool.update",
    field: "desired_nodes",
    toValue: (index: number) => index,
  },
  {
    noun: "cluster",
    create: createCluster,
    action: "cluster.update",
    field: "name",
    toValue: (index: number) => `Renamed ${index}`,
  },
  {
    noun: "network policy",
    create: async () => {
      const { id, path } = await createCluster();
      return { id, path: `${path}/network` };
    },
    action: "network_policy.update",
    field: "authorized_cidrs",
    toValue: (index: number) => [`10.0.${index}.0/24`],
  },
])(
  "twenty concurrent PUTs of one $noun without If-Match succeed in some order or are repeated, and none is lost",
  async ({ create, action, field, toValue }) => {
    await expectEachMade({ ...(await create()), action, field }, twenty<unknown>(toValue));
  },
);

const PATCH_MS = 700;

/**
 * Opens a proxy before the Kubernetes API that delays every PATCH, as a busy one does: 40 of two processes, one after another in
 * each, take 14 s of the 25 s that a request has for its lock and its write. This API server uses it until the end of the test.
 */
async function openSlowProxy(): Promise<ApiProxy> {
  const proxy = await openApiProxy(readStack(), "slow-patches", "apiserver");
  proxy.hooks.before = ({ method }) => (method === "PATCH" ? sleep(PATCH_MS, undefined) : undefined);
  const transport = createTransport({ connection: loadConnection(proxy.kubeconfig) });
  const { deps } = api;
  const { kube } = deps;
  deps.kube = createClient(withoutCallDeadlines(transport));
  onTestFinished(async () => {
    deps.kube = kube;
    await Promise.all([transport.close(), proxy.close()]);
  });
  return proxy;
}

/** Sends each request when the one before it waits for its lock or has it. */
async function sendInOrder<T>({ deps }: TestApp, requests: readonly (() => Promise<T>)[]): Promise<T[]> {
  const { writeLocks } = deps;
  let arrive: () => void = () => undefined;
  const tryTake: typeof writeLocks.tryTake = (key) => {
    arrive();
    return writeLocks.tryTake(key);
  };
  deps.writeLocks = { ...writeLocks, tryTake };
  const sent: Promise<T>[] = [];
  for (const send of requests) {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    arrive = resolve;
    sent.push(send());
    await arrived;
  }
  deps.writeLocks = writeLocks;
  return Promise.all(sent);
}

describe(`through a Kubernetes API that takes ${PATCH_MS} ms for each PATCH`, () => {
  test("twenty PUTs of one node pool through one process are a PATCH each, in the order in which they came", async () => {
    const { id, path } = await createPool();
    const { writes } = await openSlowProxy();
    const made: number[] = [];
    let left = twenty((value) => value);
    while (left.length > 0) {
      const puts = left.map((desired_nodes) => putTo(path)({ desired_nodes }));
      const responses = await sendInOrder(
        api,
        puts.map((put) => () => attempt(put)),
      );
      made.push(...left.filter((_, index) => responses[index] !== undefined));
      left = left.filter((value) => !made.includes(value));
    }
    expect((await readOrder(id, "node_pool.update", "desired_nodes", 1)).order).toEqual(made);
    expect(writes).toHaveLength(20);
  });

  test("twenty PUTs of two fields through two processes all succeed, none is lost, and for each at most one PATCH is made in vain", async () => {
    const pool = await createPool();
    const { kubeconfig, writes } = await openSlowProxy();
    const settings = { KUBECONFIG: kubeconfig, MARINA_DATABASE_URL: api.deps.config.databaseUrl };
    const second = await startSecondApiserver(dirname(kubeconfig), { ...settings, MARINA_ROLES: "api" });
    onTestFinished(() => second.stop());
    const other = createTenant(second.url, readStack().tokens.alice);
    const setting = { ...pool, action: "node_pool.update" };
    const sizes = twenty((value) => value).slice(10);
    const timeouts = sizes.map((size) => 60 + size);
    await Promise.all([
      expectEachMade({ ...setting, field: "desired_nodes" }, sizes),
      expectEachMade(
        { ...setting, field: "drain_timeout_seconds" },
        timeouts,
        (body) => () => other.request("PUT", pool.path.replace("/api/v1", ""), body),
      ),
    ]);
    expect(writes.filter(({ method }) => method === "PATCH").length).toBeLessThanOrEqual(40);
  });
});

test("a status that changes between the read and the write breaks no write", async () => {
  const { path } = await createPool();
  const { kube } = api.deps;
  let patches = 0;
  const jsonPatch: typeof kube.jsonPatch = async (kind, namespace, name, ...patch) => {
    patches += 1;
    const status = { message: "changed meanwhile" };
    await kube.mergePatch(kind, namespace, name, { status }, { fieldManager: "test", subresource: "status" });
    return kube.jsonPatch(kind, namespace, name, ...patch);
  };
  api.deps.kube = { ...kube, jsonPatch };
  onTestFinished(() => {
    api.deps.kube = kube;
  });
  const { status, body } = await api.request("PUT", path, { body: { desired_nodes: 2 } });
  expect([status, body.desired_nodes, patches]).toEqual([200, 2, 1]);
});

test("a client that disconnects while it waits for its lock can repeat the request with its key", async () => {
  const { id, path: record } = await createCluster();
  const cluster = await findCluster(api.deps.db, orgId, id);
  const lock = `Cluster ${cluster?.namespace}/${cluster?.name}`;
  const end = api.deps.writeLocks.tryTake(lock);
  const path = `${record}/credentials/rotate`;
  const headers = { "idempotency-key": createId() };
  const client = new AbortController();
  const gone = api.request("POST", path, { headers, signal: client.signal });
  await waitFor("the request to wait", () => api.deps.writeLocks.countWaiting(lock) === 1);
  client.abort();
  await gone;
  end?.();
  expect((await api.request("POST", path, { headers })).status).toBe(202);
});

test("a dry run does not wait for the lock of its object, and what was authorized before does", async () => {
  const { clusterId, id, path } = await createPool();
  const pool = await findNodePool(api.deps.db, orgId, clusterId, id);
  if (pool === undefined) throw new Error("no pool");
  const lock = `NodePool ${pool.namespace}/${pool.name}`;
  const end = api.deps.writeLocks.tryTake(lock);
  const dryRun = await api.request("PUT", `${path}?dry_run=true`, { body: { desired_nodes: 2 } });
  expect(dryRun.status).toBe(200);
  const change = { settings: { desiredNodes: 3 }, immutable: {} };
  const authorized = updateNodePool(api.deps, asAuthorized(author), pool, change);
  await waitFor("the change to wait", () => api.deps.writeLocks.countWaiting(lock) === 1);
  end?.();
  expect((await authorized).projected.object.spec.desiredNodes).toBe(3);
});

test("a dry run of an object that keeps changing is not tried again once its client has gone", async () => {
  const { clusterId, id } = await createPool();
  const pool = await findNodePool(api.deps.db, orgId, clusterId, id);
  if (pool === undefined) throw new Error("no pool");
  const client = new AbortController();
  let attempts = 0;
  const jsonPatch: Deps["kube"]["jsonPatch"] = async () => {
    attempts += 1;
    if (attempts === 2) client.abort();
    throw new KubeError({ status: 409, reason: "Conflict", kubeMessage: "it has changed" });
  };
  const deps = { ...api.deps, kube: { ...api.deps.kube, jsonPatch } };
  const change = { settings: { desiredNodes: 2 }, immutable: {} };
  const caller = { ...asAuthorized(author), request: { signal: client.signal } } as Caller;
  const dryRun = updateNodePool(deps, caller, pool, change, { dryRun: true });
  await expect(dryRun).rejects.toEqual(clientDisconnected(client.signal.reason));
  expect(attempts).toBe(2);
});

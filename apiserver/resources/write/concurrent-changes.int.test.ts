import { setTimeout as sleep } from "node:timers/promises";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { KubeError } from "../../../shared/kube/errors.ts";
import { createId } from "../../../shared/program/id.ts";
import { auditLog } from "../../audit/table.ts";
import { author } from "../../clusters/create/testing.ts";
import type { Deps } from "../../deps.ts";
import { asAuthorized, type Caller } from "../../http/contract/caller.ts";
import { clientDisconnected } from "../../http/errors.ts";
import { updateNodePool } from "../../node-pools/write.ts";
import { startTestApp, type TestApp, type TestResponse } from "../../testing/app.ts";
import { startTestClusters } from "../../testing/service.ts";
import { findCluster, findNodePool } from "../project/index.ts";

const TIMEOUT_MS = 600_000;
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
async function createCluster(): Promise<string> {
  count += 1;
  const body = { name: `Cluster ${count}`, k8s_version: "1.34", plan: "scale" };
  return (await api.request("POST", clusters, { body })).body.id;
}

async function createPool(clusterId: string): Promise<string> {
  const pools = `${clusters}/${clusterId}/nodepools`;
  return (await api.request("POST", pools, { body: { ...POOL, name: "workers" } })).body.id;
}

/** Twenty values of one setting, none of which is the one that it has. */
const twenty = <T>(toValue: (index: number) => T) =>
  Array.from({ length: 20 }, (_, index) => toValue(index + 2));

/** Repeats a PUT that a slow machine did not begin in its time, as the response asks for. */
async function put(path: string, body: object): Promise<TestResponse> {
  for (;;) {
    const response = await api.request("PUT", path, { body });
    if (response.status !== 409 && response.status !== 429) return response;
    expect(["conflict", "rate_limited"]).toContain(response.body.error.code);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  }
}

const putAll = (path: string, bodies: readonly object[]): Promise<TestResponse[]> =>
  Promise.all(bodies.map((body) => put(path, body)));

/** The values of a setting in the order of its changes: each audit row begins where the one before it ended. */
async function readOrder(targetId: string, action: string, field: string, first: unknown) {
  const rows = await api.deps.db.select().from(auditLog).where(eq(auditLog.targetId, targetId));
  const changes = rows.filter((row) => row.action === action);
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

describe("twenty concurrent PUTs without If-Match succeed in some order or are repeated, and none is lost", () => {
  test(
    "of one node pool",
    async () => {
      const clusterId = await createCluster();
      const poolId = await createPool(clusterId);
      const path = `${clusters}/${clusterId}/nodepools/${poolId}`;
      const desired = twenty((value) => value);
      const responses = await putAll(
        path,
        desired.map((desired_nodes) => ({ desired_nodes })),
      );
      expect(responses.map(({ status, body }) => [status, body.desired_nodes])).toEqual(
        desired.map((value) => [200, value]),
      );
      const { rows, order } = await readOrder(poolId, "node_pool.update", "desired_nodes", 1);
      expect([rows, sorted(order)]).toEqual([20, sorted(desired)]);
      expect((await api.request("GET", path)).body.desired_nodes).toBe(order.at(-1));
    },
    TIMEOUT_MS,
  );

  test(
    "of one cluster",
    async () => {
      const clusterId = await createCluster();
      const path = `${clusters}/${clusterId}`;
      const { name: first } = (await api.request("GET", path)).body;
      const names = twenty((value) => `Renamed ${value}`);
      const responses = await putAll(
        path,
        names.map((name) => ({ name })),
      );
      expect(responses.map(({ status, body }) => [status, body.name])).toEqual(
        names.map((name) => [200, name]),
      );
      const { rows, order } = await readOrder(clusterId, "cluster.update", "name", first);
      expect([rows, sorted(order)]).toEqual([20, sorted(names)]);
      expect((await api.request("GET", path)).body.name).toBe(order.at(-1));
    },
    TIMEOUT_MS,
  );

  test(
    "of one network policy",
    async () => {
      const clusterId = await createCluster();
      const path = `${clusters}/${clusterId}/network`;
      const lists = twenty((value) => [`10.0.${value}.0/24`]);
      const responses = await putAll(
        path,
        lists.map((authorized_cidrs) => ({ authorized_cidrs })),
      );
      expect(responses.map(({ status, body }) => [status, body.authorized_cidrs])).toEqual(
        lists.map((list) => [200, list]),
      );
      const { rows, order } = await readOrder(clusterId, "network_policy.update", "authorized_cidrs", []);
      expect([rows, sorted(order)]).toEqual([20, sorted(lists)]);
      expect((await api.request("GET", path)).body.authorized_cidrs).toEqual(order.at(-1));
    },
    TIMEOUT_MS,
  );
});

/** Delays every PATCH of this API server, as a busy Kubernetes API does. */
function delayPatches({ deps }: TestApp, delayMs: number): void {
  const { kube } = deps;
  const jsonPatch: typeof kube.jsonPatch = async (...patch) => {
    await sleep(delayMs);
    return kube.jsonPatch(...patch);
  };
  deps.kube = { ...kube, jsonPatch };
  onTestFinished(() => {
    deps.kube = kube;
  });
}

/** Sends each request when the one before it waits for its lock or has it. */
async function sendInOrder(
  { deps }: TestApp,
  requests: readonly (() => Promise<TestResponse>)[],
): Promise<TestResponse[]> {
  const { writeLocks } = deps;
  let arrive: () => void = () => undefined;
  const tryTake: typeof writeLocks.tryTake = (key) => {
    arrive();
    return writeLocks.tryTake(key);
  };
  deps.writeLocks = { ...writeLocks, tryTake };
  onTestFinished(() => {
    deps.writeLocks = writeLocks;
  });
  const sent: Promise<TestResponse>[] = [];
  for (const send of requests) {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    arrive = resolve;
    sent.push(send());
    await arrived;
  }
  return Promise.all(sent);
}

/** Twenty of them fit into the 25 s that a request has for its line and its write. */
const PATCH_MS = 700;

describe(`through a Kubernetes API that takes ${PATCH_MS} ms for each PATCH`, () => {
  test("twenty PUTs of one node pool through one process all succeed, in the order in which they came", async () => {
    const clusterId = await createCluster();
    const poolId = await createPool(clusterId);
    const path = `${clusters}/${clusterId}/nodepools/${poolId}`;
    delayPatches(api, PATCH_MS);
    const desired = twenty((value) => value);
    const responses = await sendInOrder(
      api,
      desired.map((desired_nodes) => () => api.request("PUT", path, { body: { desired_nodes } })),
    );
    expect(responses.map(({ status, body }) => [status, body.desired_nodes])).toEqual(
      desired.map((value) => [200, value]),
    );
    expect((await readOrder(poolId, "node_pool.update", "desired_nodes", 1)).order).toEqual(desired);
  });

  test("PUTs of different fields through two processes all succeed, and none is lost", async () => {
    const other = await startTestApp({ replicaOf: api });
    onTestFinished(() => other.close());
    const clusterId = await createCluster();
    const poolId = await createPool(clusterId);
    const path = `${clusters}/${clusterId}/nodepools/${poolId}`;
    delayPatches(api, PATCH_MS);
    delayPatches(other, PATCH_MS);
    const [desired, timeouts] = [
      [2, 3, 4, 5, 6],
      [61, 62, 63, 64, 65],
    ];
    const [sizes, drains] = await Promise.all([
      sendInOrder(
        api,
        desired.map((desired_nodes) => () => api.request("PUT", path, { body: { desired_nodes } })),
      ),
      sendInOrder(
        other,
        timeouts.map(
          (drain_timeout_seconds) => () => other.request("PUT", path, { body: { drain_timeout_seconds } }),
        ),
      ),
    ]);
    expect([...sizes, ...drains].map(({ status }) => status)).toEqual(Array(10).fill(200));
    const { body } = await api.request("GET", path);
    expect([body.desired_nodes, body.drain_timeout_seconds]).toEqual([6, 65]);
    const { rows } = await readOrder(poolId, "node_pool.update", "desired_nodes", 1);
    expect(rows).toBe(10);
  });
});

test("a status that changes between the read and the write breaks no write", async () => {
  const clusterId = await createCluster();
  const poolId = await createPool(clusterId);
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
  const path = `${clusters}/${clusterId}/nodepools/${poolId}`;
  const { status, body } = await api.request("PUT", path, { body: { desired_nodes: 2 } });
  expect([status, body.desired_nodes, patches]).toEqual([200, 2, 1]);
});

test("a client that disconnects while it waits for its lock can repeat the request with its key", async () => {
  const clusterId = await createCluster();
  const cluster = await findCluster(api.deps.db, orgId, clusterId);
  const lock = `Cluster ${cluster?.namespace}/${cluster?.name}`;
  const end = api.deps.writeLocks.tryTake(lock);
  const path = `${clusters}/${clusterId}/credentials/rotate`;
  const headers = { "idempotency-key": createId() };
  const client = new AbortController();
  const gone = api.request("POST", path, { headers, signal: client.signal });
  await waitFor("the request to wait", () => api.deps.writeLocks.countWaiting(lock) === 1);
  client.abort();
  await gone;
  end?.();
  expect((await api.request("POST", path, { headers })).status).toBe(202);
});

test("what was authorized before, and a dry run, do not wait for the lock of their object", async () => {
  const clusterId = await createCluster();
  const pool = await findNodePool(api.deps.db, orgId, clusterId, await createPool(clusterId));
  if (pool === undefined) throw new Error("no pool");
  const end = api.deps.writeLocks.tryTake(`NodePool ${pool.namespace}/${pool.name}`);
  if (end === undefined) throw new Error("the lock is taken");
  onTestFinished(end);
  const path = `${clusters}/${clusterId}/nodepools/${pool.id}?dry_run=true`;
  expect((await api.request("PUT", path, { body: { desired_nodes: 2 } })).status).toBe(200);
  const change = { settings: { desiredNodes: 3 }, immutable: {} };
  const { object } = await updateNodePool(api.deps, asAuthorized(author), pool, change);
  expect(object.object.spec.desiredNodes).toBe(3);
});

test("a dry run of an object that keeps changing is not tried again once its client has gone", async () => {
  const clusterId = await createCluster();
  const pool = await findNodePool(api.deps.db, orgId, clusterId, await createPool(clusterId));
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
  const caller = { ...asAuthorized(author), slot: { signal: client.signal } } as Caller;
  const dryRun = updateNodePool(deps, caller, pool, change, { dryRun: true });
  await expect(dryRun).rejects.toEqual(clientDisconnected(client.signal.reason));
  expect(attempts).toBe(2);
});

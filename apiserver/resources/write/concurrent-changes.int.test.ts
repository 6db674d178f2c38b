import { setTimeout as sleep } from "node:timers/promises";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { KubeError } from "../../../shared/kube/errors.ts";
import { createId } from "../../../shared/program/id.ts";
import { runForTenant } from "../../../shared/program/tenant-context.ts";
import { auditLog } from "../../audit/table.ts";
import type { Deps } from "../../deps.ts";
import type { Origin } from "../../http/authentication/principal.ts";
import { asAuthorized } from "../../http/authorization/guard.ts";
import { updateNodePool } from "../../node-pools/write.ts";
import { startTestApp, type TestApp, type TestResponse } from "../../testing/app.ts";
import { findNodePool } from "../project/index.ts";

const TIMEOUT_MS = 600_000;
const POOL = { vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1, min_nodes: 0, max_nodes: 30 };

let api: TestApp;
let orgId: string;
let clusters: string;

beforeAll(async () => {
  api = await startTestApp();
  orgId = await api.createOrganization();
  clusters = `/api/v1/organizations/${orgId}/clusters`;
});
afterAll(() => api.close());

let count = 0;

/** A cluster of a plan that the stack does not have, so no machine is ever created for it. */
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

/** Repeats a PUT that found no turn in its time, as its response asks for. */
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

// On a slow machine some find no turn within 20 s.
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

test(
  "through a slow Kubernetes API each of twenty concurrent PUTs is carried out whole or refused whole, with 409 or 429",
  async () => {
    const clusterId = await createCluster();
    const poolId = await createPool(clusterId);
    const path = `${clusters}/${clusterId}/nodepools/${poolId}`;
    const { kube } = api.deps;
    const mergePatch: typeof kube.mergePatch = async (...patch) => {
      await sleep(1_500);
      return kube.mergePatch(...patch);
    };
    api.deps.kube = { ...kube, mergePatch };
    onTestFinished(() => {
      api.deps.kube = kube;
    });
    const desired = twenty((value) => value);
    const responses = await Promise.all(
      desired.map((desired_nodes) => api.request("PUT", path, { body: { desired_nodes } })),
    );
    const outcomes = responses.map(({ status, body }) => `${status} ${body.error?.code ?? "done"}`);
    expect(["200 done", "409 conflict", "429 rate_limited"]).toEqual(expect.arrayContaining(outcomes));
    const done = desired.filter((_, index) => responses[index]?.status === 200);
    expect(done.length).toBeGreaterThan(0);
    const { rows, order } = await readOrder(poolId, "node_pool.update", "desired_nodes", 1);
    expect([rows, sorted(order)]).toEqual([done.length, sorted(done)]);
    expect((await api.request("GET", path)).body.desired_nodes).toBe(order.at(-1));
  },
  TIMEOUT_MS,
);

const origin: Origin = {
  principal: {
    kind: "user",
    userId: createId(),
    issuer: "https://issuer.example",
    emailVerified: true,
    emailTrusted: false,
    roles: [],
    expiresAtMs: 0,
  },
  requestId: "gone",
  sourceAddress: undefined,
};

test("a dry run of an object that keeps changing is not tried again once its client has gone", async () => {
  const clusterId = await createCluster();
  const pool = await findNodePool(api.deps.db, orgId, clusterId, await createPool(clusterId));
  if (pool === undefined) throw new Error("no pool");
  const client = new AbortController();
  let attempts = 0;
  const mergePatch: Deps["kube"]["mergePatch"] = async () => {
    attempts += 1;
    if (attempts === 2) client.abort();
    throw new KubeError({ status: 409, reason: "Conflict", kubeMessage: "it has changed" });
  };
  const deps = { ...api.deps, kube: { ...api.deps.kube, mergePatch } };
  const change = { settings: { desiredNodes: 2 }, fixed: {} };
  const dryRun = runForTenant({ tenant: orgId, signal: client.signal }, () =>
    updateNodePool(deps, asAuthorized(origin), pool, change, { dryRun: true }),
  );
  await expect(dryRun).rejects.toMatchObject({ isAborted: true });
  expect(attempts).toBe(2);
});

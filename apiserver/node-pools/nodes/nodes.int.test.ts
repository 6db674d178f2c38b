import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { auditLog } from "../../audit/table.ts";
import { findNodePool, projectObservations } from "../../resources/project/index.ts";
import { holdKey, startTestApp } from "../../testing/app.ts";

const api = setUp(startTestApp);
let orgId: string;
let clusterId: string;
let poolId: string;
let nodes: string;

const MACHINES = ["1", "2"].map((digit) => ({
  name: `machine-${digit}`,
  uid: `7205b06a-a404-49fb-bc96-844d27d421e${digit}`,
  node: `node-${digit}`,
  phase: "Running",
  ready: digit === "1",
  version: "1.34.2",
  createdAt: "2026-11-21T09:00:00Z",
}));

beforeAll(async () => {
  orgId = await api.createOrganization();
  const clusters = `/api/v1/organizations/${orgId}/clusters`;
  const pool = { name: "general", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 2 };
  const { body } = await api.request("POST", clusters, {
    body: { name: "First", k8s_version: "1.34", plan: "scale", node_pools: [pool] },
  });
  clusterId = body.id;
  const { body: pools } = await api.request("GET", `${clusters}/${clusterId}/nodepools`);
  poolId = pools.items[0].id;
  nodes = `${clusters}/${clusterId}/nodepools/${poolId}/nodes`;
});
afterAll(async () => {
  await api.request("DELETE", `/api/v1/organizations/${orgId}/clusters/${clusterId}`);
});

/**
 * As the operator reports them, in the Kubernetes API and in the projection; the real one may report otherwise soon.
 */
async function reportMachines() {
  const pool = await requirePool();
  const status = { machines: MACHINES };
  const object = await api.deps.kube.mergePatch(
    nodePoolKind,
    pool.namespace,
    pool.name,
    { status },
    { fieldManager: "test", subresource: "status" },
  );
  const resourceVersion = BigInt(object.metadata.resourceVersion ?? "0");
  await api.deps.db.transaction((tx) =>
    projectObservations(tx, [{ object: { ...pool, resourceVersion, object } }]),
  );
}

async function requirePool() {
  const pool = await findNodePool(api.deps.db, orgId, clusterId, poolId);
  if (pool === undefined) throw new Error("no pool");
  return pool;
}

describe("the nodes of a pool", () => {
  test("are none before one is created, then listed in pages", async () => {
    const empty = await api.request("GET", nodes);
    expect([empty.status, empty.body]).toEqual([200, { items: [], next_cursor: null }]);
    await reportMachines();
    const first = await api.request("GET", `${nodes}?limit=1`);
    expect(first.body.items).toMatchObject([{ name: "node-1", status: "ready", replacing: false }]);
    const second = await api.request("GET", `${nodes}?limit=1&cursor=${first.body.next_cursor}`);
    expect(second.body).toMatchObject({
      items: [{ name: "node-2", status: "not_ready" }],
      next_cursor: null,
    });
  });
});

describe("replacing a node", () => {
  test("is requested from the operator by an annotation, once, and shown in the record", async () => {
    const response = await waitFor("the request to be taken", async () => {
      await reportMachines();
      const taken = await api.request("POST", `${nodes}/node-1/replace`);
      return taken.status === 202 ? taken : undefined;
    });
    expect(response.headers.get("location")).toBe(nodes);
    expect(response.body).toMatchObject({ node_pool_id: poolId, name: "node-1", replacing: true });
    const rows = await api.deps.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.targetId, poolId), eq(auditLog.action, "node.replace")));
    expect(rows).toMatchObject([{ after: { node: "node-1" } }]);

    await holdKey(api, `${nodes}/node-1/replace`, "held");
    const headers = { "idempotency-key": "held" };
    const early = await api.request("POST", `${nodes}/node-1/replace`, { headers });
    expect([early.status, early.body.error.code]).toEqual([409, "operation_in_progress"]);
  });

  test("of a node that the pool does not have is 404", async () => {
    const missing = await api.request("POST", `${nodes}/node-9/replace`);
    expect([missing.status, missing.body.error.code]).toEqual([404, "not_found"]);
    expect((await api.request("POST", `${nodes}/Node_1/replace`)).status).toBe(400);
  });
});

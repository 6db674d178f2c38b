import { afterAll, beforeAll, expect, test } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { readStack, waitFor } from "../platform/stack/testing.ts";
import { capiClusterKind, createEngineer, type Engineer } from "../testing/custom-resources.ts";
import { createTenant } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
/** Blocks the deletion of a pool, like a machine that cannot be drained. */
const HOLD = "example.com/hold";
const BY_HAND = { fieldManager: "test" };
let engineer: Engineer;
let clusters: string;

beforeAll(async () => {
  const { body } = await alice.request("POST", "/organizations", { name: "Upgrades" });
  clusters = `/organizations/${body.id}/clusters`;
  engineer = await createEngineer(stack, body.id);
});

afterAll(() => engineer.close());

async function makeRunning(name: string): Promise<string> {
  const pool = { vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 0, max_nodes: 2 };
  const body = {
    name,
    k8s_version: "1.34",
    node_pools: ["good", "bad"].map((one) => ({ ...pool, name: one })),
  };
  const created = await alice.request("POST", clusters, body);
  const path = `${clusters}/${created.body.id}`;
  await waitFor("it to run", async () => {
    const { body: now } = await alice.request("GET", path);
    return now.status === "running" && now.current_version === "1.34.2";
  });
  return path;
}

test("an upgrade reports the pool that cannot be upgraded now, and continues without it", async () => {
  const path = await makeRunning("blocked pool");
  const { body: pools } = await alice.request("GET", `${path}/nodepools`);
  const bad = pools.items.find(({ name }: { name: string }) => name === "bad");
  const [object] = await engineer.client.listAll(nodePoolKind, {
    namespace: engineer.namespace,
    labelSelector: `${LABEL_ID}=${bad.id}`,
  });
  if (object === undefined) throw new Error("there is no such pool");
  const { name, finalizers = [] } = object.metadata;
  await engineer.patchPool(name, { metadata: { finalizers: [...finalizers, HOLD] } });
  expect((await alice.request("DELETE", `${path}/nodepools/${bad.id}`)).status).toBe(202);

  const accepted = await alice.request("POST", `${path}/upgrade`, { target_version: "1.35" });
  expect(accepted.status).toBe(202);
  expect(accepted.body).toMatchObject({
    cluster: { k8s_version: "1.35.1", current_version: "1.34.2" },
    workers_total: 2,
    workers_patched: 1,
    workers_pending: 1,
    workers_error: "bad: The node pool is being deleted.",
  });
  await waitFor("the upgrade to complete", async () => {
    const { body } = await alice.request("GET", path);
    return body.status === "running" && body.current_version === "1.35.1";
  });
  await engineer.client.mergePatch(
    nodePoolKind,
    engineer.namespace,
    name,
    { metadata: { finalizers: null } },
    BY_HAND,
  );
  await waitFor("the pool to be deleted", async () => {
    return (await alice.request("GET", `${path}/nodepools/${bad.id}`)).status === 404;
  });
  expect((await alice.request("DELETE", path)).status).toBe(202);
});

test("a cluster is deleted in the middle of its upgrade", async () => {
  const path = await makeRunning("given up");
  const accepted = await alice.request("POST", `${path}/upgrade`, { target_version: "1.35" });
  expect([accepted.status, accepted.body.cluster.status]).toEqual([202, "upgrading"]);
  await waitFor("the upgrade to begin", async () => {
    const labelSelector = `${LABEL_ID}=${accepted.body.cluster.id}`;
    const { client, namespace } = engineer;
    const [capiCluster] = await client.listAll(capiClusterKind, { namespace, labelSelector });
    return capiCluster.spec.topology.version === "v1.35.1";
  });
  const deleted = await alice.request("DELETE", path);
  expect([deleted.status, deleted.body.status]).toEqual([202, "deleting"]);
  await waitFor("it to be deleted", async () => (await alice.request("GET", path)).status === 404);
  const left = await engineer.client.listAll(clusterKind, { namespace: engineer.namespace });
  expect(left.filter(({ spec }) => spec.displayName === "given up")).toEqual([]);
});

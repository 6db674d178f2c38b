import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { createEngineer, type Engineer } from "../testing/custom-resources.ts";
import { createTenant } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
let engineer: Engineer;
let clusters: string;

beforeAll(async () => {
  const { body } = await alice.request("POST", "/organizations", { name: "No traps" });
  clusters = `/organizations/${body.id}/clusters`;
  engineer = await createEngineer(stack, body.id);
});

afterAll(() => engineer.close());

const POOL = { name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 0, max_nodes: 5 };

async function make(name: string, change: object = {}): Promise<string> {
  const body = { name, k8s_version: "1.34", node_pools: [POOL], ...change };
  const created = await alice.request("POST", clusters, body);
  if (created.status !== 202) throw new Error(JSON.stringify(created.body));
  expect(created.body.status).toBe("provisioning");
  return `${clusters}/${created.body.id}`;
}

const untilStatus = (path: string, status: string) =>
  waitFor(`${path} to be ${status}`, async () => (await alice.request("GET", path)).body.status === status);

/** What a tenant must be able to do with a failed cluster: change it, add to it, delete it. */
async function expectWayOut(path: string): Promise<void> {
  const { body: pools } = await alice.request("GET", `${path}/nodepools`);
  const pool = `${path}/nodepools/${pools.items[0].id}`;
  expect((await alice.request("PUT", path, { name: `${path.slice(-8)} renamed` })).status).toBe(200);
  expect((await alice.request("PUT", pool, { max_nodes: 6 })).status).toBe(200);
  expect((await alice.request("PUT", `${path}/network`, { authorized_cidrs: [] })).status).toBe(200);
  const more = await alice.request("POST", `${path}/nodepools`, { ...POOL, name: "more" });
  expect(more.status).toBe(202);
  expect((await alice.request("DELETE", pool)).status).toBe(202);
  const deleted = await alice.request("DELETE", path);
  expect([deleted.status, deleted.body.status]).toEqual([202, "deleting"]);
  await waitFor("it to be deleted", async () => (await alice.request("GET", path)).status === 404);
}

describe.concurrent("a cluster can be changed and deleted", () => {
  test("before it is up", async () => {
    await expectWayOut(await make("coming"));
  });

  test("when it has failed, and its record says why and what to do", async () => {
    const path = await make("failed", { plan: "scale" });
    await untilStatus(path, "failed");
    const { body } = await alice.request("GET", path);
    expect(body.status_message).toMatch(/Cluster API rejects the cluster .*Change the specification/);
    const stalled = body.conditions.find(({ type }: { type: string }) => type === "Stalled");
    expect(stalled).toMatchObject({ status: "True", reason: "RejectedByClusterAPI" });
    await expectWayOut(path);
  });

  test("when it runs", async () => {
    const path = await make("running");
    await untilStatus(path, "running");
    await expectWayOut(path);
  });

  test("or delete its last node pool and keep running", async () => {
    const path = await make("bare");
    await untilStatus(path, "running");
    const listPools = async () => (await alice.request("GET", `${path}/nodepools`)).body.items;
    const [{ id }] = await listPools();
    expect((await alice.request("DELETE", `${path}/nodepools/${id}`)).status).toBe(202);
    await waitFor("the pool to be deleted", async () => (await listPools()).length === 0);
    // The status of the cluster is written after the pool is gone.
    await untilStatus(path, "running");
    expect((await alice.request("DELETE", path)).status).toBe(202);
    await waitFor("it to be deleted", async () => (await alice.request("GET", path)).status === 404);
  });
});

test("a cluster whose deletion is blocked reports it, refuses changes, and can be deleted again", async () => {
  const path = await make("held", { plan: "scale" });
  const { body } = await alice.request("GET", path);
  const [name] = (
    await kubectl([
      "get",
      "clusters.cloud.marina.dev",
      "-n",
      engineer.namespace,
      "-l",
      `cloud.marina.dev/id=${body.id}`,
      "-o",
      "jsonpath={.items[*].metadata.name}",
    ])
  ).stdout.split(" ");
  const { metadata } = await engineer.getCluster(name ?? "");
  await engineer.patchCluster(name ?? "", {
    metadata: { finalizers: [...(metadata.finalizers ?? []), "example.com/hold"] },
  });
  expect((await alice.request("DELETE", path)).status).toBe(202);
  for (const [method, at, change] of [
    ["PUT", path, { name: "too late" }],
    ["PUT", `${path}/network`, { authorized_cidrs: ["203.0.113.0/24"] }],
    ["POST", `${path}/nodepools`, { ...POOL, name: "late" }],
  ] as const) {
    const refused = await alice.request(method, at, change);
    expect([method, at, refused.status, refused.body.error.code]).toEqual([method, at, 409, "conflict"]);
  }
  const early = await alice.request("POST", `${path}/kubeconfig`, { ttl_seconds: 600 });
  expect([early.status, early.body.error.code]).toEqual([409, "cluster_not_ready"]);
  const again = await alice.request("DELETE", path);
  expect([again.status, again.body.status]).toEqual([202, "deleting"]);
  await engineer.patchCluster(name ?? "", { metadata: { finalizers: null } });
  await waitFor("it to be deleted", async () => (await alice.request("GET", path)).status === 404);
});

import { expect, test } from "vitest";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);

test("objects of a pipeline are served by REST with ids, and so is their deletion", async () => {
  const created = await alice.call("createOrganization", { body: { name: "GitOps" } });
  const { id: orgID } = expectStatus(201, created);
  const namespace = `org-${orgID}`;
  await waitFor("the organization's namespace", async () => {
    const { stdout } = await kubectl(["get", "namespace", namespace, "--ignore-not-found", "-o", "name"]);
    return stdout !== "";
  });

  const manifests = [
    aCluster(namespace, "delivered", "Delivered by a pipeline"),
    aNodePool(namespace, "delivered-workers", "delivered"),
  ];
  await kubectl(["apply", "--server-side", "-f", "-"], {
    stdin: manifests.map((m) => JSON.stringify(m)).join("\n---\n"),
  });

  const cluster = await waitFor("REST to list the running cluster", async () => {
    const { items } = expectStatus(200, await alice.call("listClusters", { orgID }));
    return items.find(
      (item) => item.status === "running" && item.nodes.ready === 2 && item.node_pools.ready === 1,
    );
  });
  expect(cluster).toMatchObject({
    name: "Delivered by a pipeline",
    org_id: orgID,
    k8s_version: "1.34.2",
    current_version: "1.34.2",
    node_pools: { total: 1, ready: 1 },
  });
  const label = `jsonpath={.metadata.labels.cloud\\.marina\\.dev/id}`;
  const { stdout: id } = await kubectl([
    "get",
    "clusters.cloud.marina.dev",
    "delivered",
    "-n",
    namespace,
    "-o",
    label,
  ]);
  expect(cluster.id).toBe(id);

  const place = { orgID, clusterID: cluster.id };
  // Cluster and pool are projected one by one.
  const pools = await waitFor("REST to list the ready pool", async () => {
    const { items } = expectStatus(200, await alice.call("listNodePools", place));
    return items[0]?.status === "ready" ? items : undefined;
  });
  expect(pools).toMatchObject([
    { name: "delivered-workers", cluster_id: cluster.id, desired_nodes: 2, status: "ready" },
  ]);

  await handCountOver(namespace, "delivered-workers");
  await waitFor("REST to show the number that was set last", async () => {
    const { items } = expectStatus(200, await alice.call("listNodePools", place));
    return items[0]?.desired_nodes === 1 && items[0].status === "ready";
  });

  await kubectl(["delete", "clusters.cloud.marina.dev", "delivered", "-n", namespace, "--wait=false"]);
  await waitFor("REST to return 404", async () => (await alice.call("getCluster", place)).status === 404);
});

/** The number of nodes of a pool is left to another manager, which first comes before Git lets go and then after it. */
async function handCountOver(namespace: string, name: string): Promise<void> {
  const { spec, ...object } = aNodePool(namespace, name, "delivered");
  const { desiredNodes: _, ...withoutCount } = spec;
  const apply = (manager: string, fields: object) =>
    kubectl(["apply", "--server-side", "--force-conflicts", "--field-manager", manager, "-f", "-"], {
      stdin: JSON.stringify({ ...object, spec: fields }),
    });
  const read = async () => {
    const { stdout } = await kubectl(["get", "nodepools", name, "-n", namespace, "-o", "json"]);
    return JSON.parse(stdout) as NodePool;
  };
  const reasonOf = ({ status }: NodePool) =>
    status?.conditions?.find(({ type }) => type === "Scaling")?.reason;
  const settled = (nodes: number) =>
    waitFor(`${nodes} nodes at rest`, async () => {
      const pool = await read();
      const isSettled = pool.status?.readyNodes === nodes && reasonOf(pool) === "NotScaling";
      return isSettled ? pool : undefined;
    });

  await apply("counter", { desiredNodes: 2 });
  await apply("kubectl", withoutCount);
  expect((await read()).spec.desiredNodes).toBe(2);
  await apply("counter", { desiredNodes: 3 });
  const { status: before } = await settled(3);

  await apply("kubectl", { ...withoutCount, desiredNodes: 3 });
  await apply("counter", {});
  await apply("kubectl", withoutCount);
  const released = await waitFor("the pool to say that nobody sets its count", async () => {
    const pool = await read();
    return reasonOf(pool) === "CountReleased" ? pool : undefined;
  });
  const reconciling = released.status?.conditions?.find(({ type }) => type === "Reconciling");
  expect([released.status?.phase, reconciling?.status]).toEqual(["Ready", "False"]);
  expect(released.spec.desiredNodes).toBe(1);
  expect(released.status?.machines?.map(({ uid }) => uid)).toEqual(before?.machines?.map(({ uid }) => uid));
  await kubectl(["scale", "nodepool", name, "-n", namespace, "--replicas", "2"]);
  await settled(2);
  // A number that no manager has any more is still the one that was scaled to, the default included.
  await kubectl(["scale", "nodepool", name, "-n", namespace, "--replicas", "1"]);
  await settled(1);
}

function aCluster(namespace: string, name: string, displayName: string) {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "Cluster",
    metadata: { name, namespace },
    spec: { displayName, version: "1.34" },
  };
}

function aNodePool(namespace: string, name: string, clusterName: string) {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "NodePool",
    metadata: { name, namespace },
    spec: { clusterName, vcpus: 2, memoryGB: 4, diskGB: 20, desiredNodes: 2 },
  };
}

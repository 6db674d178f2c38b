import { expect, test } from "vitest";
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

  await kubectl(["delete", "clusters.cloud.marina.dev", "delivered", "-n", namespace, "--wait=false"]);
  await waitFor("REST to return 404", async () => (await alice.call("getCluster", place)).status === 404);
});

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
    spec: { clusterName, vcpus: 2, memoryGB: 4, diskGB: 20, minNodes: 2, maxNodes: 2, desiredNodes: 2 },
  };
}

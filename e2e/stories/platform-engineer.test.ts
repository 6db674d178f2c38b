import { expect, test } from "vitest";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);

test("a platform engineer lists, awaits and describes a tenant's cluster with kubectl alone", async () => {
  const platform = await alice.call("createOrganization", { body: { name: "Platform" } });
  const { id: orgID } = expectStatus(201, platform);
  const accepted = await alice.call("createCluster", {
    orgID,
    body: {
      name: "Seen from below",
      k8s_version: "1.34.2",
      plan: "dev",
      node_pools: [{ name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 }],
    },
  });
  const { id: clusterID } = expectStatus(202, accepted);
  const namespace = `org-${orgID}`;
  const { stdout: name } = await kubectl([
    "get",
    "clusters.cloud.marina.dev",
    `--namespace=${namespace}`,
    `--selector=cloud.marina.dev/id=${clusterID}`,
    "--output=jsonpath={.items[0].metadata.name}",
  ]);
  expect(name).toMatch(/^seen-from-below-[a-z0-9]{5}$/);

  // No condition is True before its time: what is waited for is there when the command returns.
  const awaited = ["-n", namespace, "--timeout=400s"];
  await kubectl(["wait", "--for=condition=WorkersReady", `clusters.cloud.marina.dev/${name}`, ...awaited]);
  await kubectl(["wait", "--for=condition=UpToDate", "nodepools.cloud.marina.dev", "--all", ...awaited]);
  const ready = [
    "get",
    "machinedeployments",
    "-n",
    namespace,
    "-o",
    "jsonpath={.items[*].status.readyReplicas}",
  ];
  expect((await kubectl(ready)).stdout).toBe("1");
  await kubectl([
    "wait",
    "--for=condition=Ready",
    `clusters.cloud.marina.dev/${name}`,
    "-n",
    namespace,
    "--timeout=400s",
  ]);
  // The cluster may be ready before its pool is counted.
  const row = /True\s+Available\s+Ready\s+1\.34\.2\s+1\s+Seen from below/;
  await waitFor("the ready cluster with its node", async () => row.test((await getClusterRow(name)) ?? ""));
  const { stdout: table } = await kubectl(["get", "clusters", "-A"]);
  expect(table.split("\n")[0]).toMatch(
    /NAMESPACE\s+NAME\s+READY\s+REASON\s+PHASE\s+VERSION\s+NODES\s+DISPLAYNAME\s+AGE/,
  );

  await waitFor("the complete description, with an Event of the operator", async () => {
    const { stdout } = await kubectl(["describe", "clusters.cloud.marina.dev", name, "-n", namespace]);
    const parts = ["ControlPlaneInitialized", "Ready", "Events:", "marina-operator"];
    return parts.every((part) => stdout.includes(part));
  });

  await alice.call("deleteCluster", { orgID, clusterID });
  await kubectl([
    "wait",
    "--for=delete",
    `clusters.cloud.marina.dev/${name}`,
    "-n",
    namespace,
    "--timeout=400s",
  ]);
});

async function getClusterRow(name: string): Promise<string | undefined> {
  const { stdout } = await kubectl(["get", "clusters", "-A"]);
  return stdout.split("\n").find((line) => line.includes(name));
}

import { expect, test } from "vitest";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { readStack, waitFor } from "../platform/stack/testing.ts";
import { capiClusterKind, conditionOf, createEngineer, waitForCluster } from "../testing/custom-resources.ts";
import { setUp } from "../testing/set-up.ts";

const stack = readStack();
const engineer = setUp(() => createEngineer(stack));

function waitForQuiet(what: string, holds: (cluster: Cluster) => boolean): Promise<Cluster> {
  const find = async () => {
    const cluster = await engineer.getCluster("quiet");
    return holds(cluster) ? cluster : undefined;
  };
  return waitFor(what, find);
}

/** What its condition about the present specification says of its network rules. */
function rulesOf(cluster: Cluster): string | undefined {
  const condition = conditionOf(cluster, "NetworkPolicyApplied");
  const isCurrent = condition?.observedGeneration === cluster.metadata.generation;
  return isCurrent ? `${condition?.status} ${condition?.reason}` : undefined;
}

async function readCapiCluster() {
  const capiCluster = await engineer.client.get(capiClusterKind, engineer.namespace, "quiet");
  const [pool] = capiCluster?.spec.topology.workers?.machineDeployments ?? [];
  return { paused: capiCluster?.spec.paused ?? false, replicas: pool?.replicas };
}

test("a suspended cluster is left as it is, says so, and gets what it missed when it is resumed", async () => {
  const list = ["127.0.0.0/8"];
  await engineer.createCluster("quiet", { version: "1.34", network: { authorizedCIDRs: list } });
  await engineer.createPool("workers", "quiet", { desiredNodes: 1 });
  await waitForCluster(engineer, "quiet");
  // The cluster may be ready before its pool is created.
  await waitFor("the node", async () => (await engineer.getPool("workers")).status?.readyNodes === 1);
  await waitForQuiet("its list to be in force", (cluster) => rulesOf(cluster) === "True Applied");
  await engineer.patchCluster("quiet", { spec: { suspend: true } });
  const isSuspended = (cluster: Cluster) => conditionOf(cluster, "Suspended")?.status === "True";
  const suspended = await waitForQuiet("the suspension", isSuspended);
  expect(suspended.status?.message).toContain("suspended");
  expect(rulesOf(suspended)).toBe("True Applied");
  await engineer.patchCluster("quiet", { spec: { network: { authorizedCIDRs: [...list, "192.0.2.0/24"] } } });
  await waitForQuiet("another list to wait", (cluster) => rulesOf(cluster) === "False Suspended");
  await engineer.patchPool("workers", { spec: { desiredNodes: 2 } });
  await waitFor(
    "the pool to say what it waits for",
    async () => conditionOf(await engineer.getPool("workers"), "Scaling")?.reason === "Suspended",
  );
  expect(await readCapiCluster()).toEqual({ paused: true, replicas: 1 });

  await engineer.patchCluster("quiet", { spec: { suspend: null } });
  await waitFor("the second node", async () => (await engineer.getPool("workers")).status?.readyNodes === 2);
  expect(await readCapiCluster()).toEqual({ paused: false, replicas: 2 });
  const resumed = await waitForQuiet("no message", ({ status }) => status?.message === undefined);
  expect(conditionOf(resumed, "Suspended")).toBeUndefined();
  await waitForQuiet("the other list to be in force", (cluster) => rulesOf(cluster) === "True Applied");
});

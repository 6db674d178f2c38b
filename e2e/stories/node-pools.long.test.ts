import { beforeAll, describe, expect, test } from "vitest";
import { deploymentKind } from "../../shared/kube/core-kinds.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import {
  conditionOf,
  createEngineer,
  machineDeploymentKind,
  machineKind,
  waitForCluster,
} from "../testing/custom-resources.ts";
import { setUp } from "../testing/set-up.ts";
import { failNode, withTenantKubeconfig } from "../testing/tenant-kubeconfig.ts";

// One cluster carries all stories; each has a separate pool, and they run side by side.
const stack = readStack();
const GROUP_SIZE = "cluster.x-k8s.io/cluster-api-autoscaler-node-group";
const engineer = setUp(() => createEngineer(stack));

beforeAll(async () => {
  await engineer.createCluster("busy", {});
  await engineer.createPool("sick", "busy", { desiredNodes: 2 });
  await engineer.createPool("asked", "busy", { desiredNodes: 1 });
  await engineer.createPool("auto", "busy", { desiredNodes: 2 });
  await engineer.createPool("marked", "busy", {
    nodeLabels: { tier: "gold", zone: "a" },
    nodeTaints: [{ key: "dedicated", value: "web", effect: "NoSchedule" }],
  });
  await waitForCluster(engineer, "busy");
  // Each pool has a status of its own, which may be written after that of the cluster.
  for (const [name, nodes] of Object.entries({ sick: 2, asked: 1, auto: 2, marked: 1 })) {
    await waitForNodes(name, nodes);
  }
});

describe.concurrent("the pools of a running cluster", () => {
  test("labels follow on live nodes, taints are there from the beginning, and no machine is replaced for them", async () => {
    const [before] = (await engineer.getPool("marked")).status?.machines ?? [];
    const readNode = () =>
      withTenantKubeconfig(engineer, "busy", async (kubeconfig) => {
        const { stdout } = await kubectl(["get", "node", before?.node ?? "", "-o", "json"], { kubeconfig });
        return JSON.parse(stdout);
      });
    const node = await waitFor("Cluster API to release the node to the scheduler", async () => {
      const found = await readNode();
      const taints: { key: string }[] = found.spec.taints ?? [];
      return taints.some(({ key }) => key === "node.cluster.x-k8s.io/uninitialized") ? undefined : found;
    });
    expect(node.metadata.labels).toMatchObject({ tier: "gold", zone: "a" });
    expect(node.spec.taints).toContainEqual({ key: "dedicated", value: "web", effect: "NoSchedule" });
    await engineer.patchPool("marked", { spec: { nodeLabels: { tier: "silver", zone: null, rack: "7" } } });
    await waitFor("the labels to follow", async () => {
      const { tier, zone, rack } = (await readNode()).metadata.labels;
      return tier === "silver" && zone === undefined && rack === "7";
    });
    expect((await engineer.getPool("marked")).status?.machines).toMatchObject([{ uid: before?.uid }]);
  });

  test("a failed node is replaced and recorded once; scaling and rollouts are not recorded", async () => {
    const before = await engineer.getPool("sick");
    const [victim, other] = before.status?.machines ?? [];
    await failNode(engineer, "busy", victim?.node ?? "");
    const after = await waitFor("the node to be replaced", async () => {
      const pool = await engineer.getPool("sick");
      return pool.status?.transitions?.some(({ type }) => type === "NodeReplaced") ? pool : undefined;
    });
    const replaced = after.status?.transitions?.filter(({ type }) => type === "NodeReplaced");
    expect(replaced).toMatchObject([{ oldNode: victim?.node, reason: "UnhealthyNode" }]);
    expect(after.status?.machines?.map(({ node }) => node)).toContain(replaced?.[0]?.newNode);
    expect(after.status?.machines?.map(({ uid }) => uid)).toContain(other?.uid);
    expect(after.status?.replacements).toBeUndefined();

    await engineer.patchPool("sick", { spec: { desiredNodes: 1 } });
    await waitForNodes("sick", 1);
    await engineer.patchPool("sick", { spec: { vcpus: 4 } });
    await waitFor("the rollout", async () => {
      const { status } = await engineer.getPool("sick");
      const isNew = status?.machines?.every(
        ({ uid }) => !after.status?.machines?.some((old) => old.uid === uid),
      );
      return isNew && status?.machines?.length === 1 && status.phase === "Ready";
    });
    const types = (await engineer.getPool("sick")).status?.transitions?.map(({ type }) => type);
    expect(types).toEqual(["Ready", "NodeReplaced"]);
    const events = await waitFor("the Event of the replacement", async () => {
      const found = (await engineer.listEvents("sick")).filter(({ reason }) => reason === "NodeReplaced");
      return found.length > 0 ? found : undefined;
    });
    expect(events).toHaveLength(1);
  });

  test("one node is replaced when an annotation asks for it", async () => {
    const before = await engineer.getPool("asked");
    const node = before.status?.machines?.[0]?.node;
    const annotations = {
      [`replace.cloud.marina.dev/${node}`]: "request-1",
      "replace.cloud.marina.dev/unknown": "2",
    };
    await engineer.patchPool("asked", { metadata: { annotations } });
    const after = await waitFor("the node to be replaced", async () => {
      const pool = await engineer.getPool("asked");
      const isRecorded = pool.status?.transitions?.some(({ type }) => type === "NodeReplaced");
      // The status and the annotations are written one after the other.
      return isRecorded && Object.keys(pool.metadata.annotations ?? {}).length === 0 ? pool : undefined;
    });
    expect(after.status?.transitions).toMatchObject([
      { type: "Ready" },
      { type: "NodeReplaced", oldNode: node, reason: "Requested" },
    ]);
    await waitFor("the Event about the unknown node", async () => {
      const events = await engineer.listEvents("asked");
      const { annotations = {} } = (await engineer.getPool("asked")).metadata;
      if (Object.keys(annotations).length > 0) return false;
      if (events.some(({ reason }) => reason === "NodeNotFound")) return true;
      // An operator that ends before it has written an Event does not write it again.
      const unknown = { "replace.cloud.marina.dev/unknown": "2" };
      await engineer.patchPool("asked", { metadata: { annotations: unknown } });
      return false;
    });
  });

  test("a pool becomes autoscaled and fixed again without moving a node", async () => {
    const { client, namespace } = engineer;
    const machinesOf = async () =>
      ((await engineer.getPool("auto")).status?.machines ?? []).map(({ uid }) => uid).sort();
    const before = await machinesOf();
    await engineer.patchPool("auto", { spec: { maxVCPUs: 8, maxMemoryGB: 12 } });
    const deployment = await waitFor("the autoscaler", () =>
      client.get(deploymentKind, namespace, "busy-autoscaler"),
    );
    const [container] = deployment.spec?.template.spec?.containers ?? [];
    expect(container?.args).toContain(
      `--node-group-auto-discovery=clusterapi:namespace=${namespace},clusterName=busy`,
    );
    await expectAutoscaling("auto", "Unknown", "WaitingForAutoscaler");
    const available = { type: "Available", status: "True", reason: "Played", message: "" };
    await client.mergePatch(
      deploymentKind,
      namespace,
      "busy-autoscaler",
      { status: { conditions: [available] } },
      { fieldManager: "test", subresource: "status" },
    );
    await expectAutoscaling("auto", "True", "Enabled");
    const nodeGroup = await waitFor("the bounds to reach the node group", async () => {
      const [found] = await client.listAll(machineDeploymentKind, {
        namespace,
        labelSelector: "topology.cluster.x-k8s.io/deployment-name=auto",
      });
      return found?.metadata.annotations?.[`${GROUP_SIZE}-max-size`] === undefined ? undefined : found;
    });
    expect(nodeGroup.metadata.annotations).toMatchObject({
      [`${GROUP_SIZE}-min-size`]: "1",
      [`${GROUP_SIZE}-max-size`]: "3",
      "cluster.x-k8s.io/autoscaling-options-scaledownunneededtime": "600s",
      "cluster.x-k8s.io/autoscaling-options-scaledownutilizationthreshold": "0.5",
    });
    expect(await machinesOf()).toEqual(before);

    // A simulated autoscaler scales the MachineDeployment, and nothing reverts that.
    await client.mergePatch(
      machineDeploymentKind,
      namespace,
      nodeGroup.metadata.name,
      { spec: { replicas: 3 } },
      { fieldManager: "cluster-autoscaler" },
    );
    await waitForNodes("auto", 3);
    const scaled = await engineer.getPool("auto");
    expect(scaled.spec.desiredNodes).toBe(2);
    expect(scaled.status?.phase).toBe("Ready");

    const three = await machinesOf();
    await engineer.patchPool("auto", { spec: { desiredNodes: 3, maxVCPUs: null, maxMemoryGB: null } });
    await waitFor(
      "the pool to be of a fixed size",
      async () => conditionOf(await engineer.getPool("auto"), "Autoscaling") === undefined,
    );
    await waitFor(
      "the autoscaler to go",
      async () => (await client.get(deploymentKind, namespace, "busy-autoscaler")) === undefined,
    );
    expect(await machinesOf()).toEqual(three);

    await kubectl(["scale", "nodepools.cloud.marina.dev/auto", "-n", namespace, "--replicas=0"]);
    await waitForNodes("auto", 0);
    expect((await engineer.getPool("auto")).status?.phase).toBe("Ready");
  });
});

test("nothing that has converged is written again", async () => {
  const { client, namespace } = engineer;
  await waitForCluster(engineer, "busy");
  await waitForNodes("sick", 1);
  await waitForNodes("auto", 0);
  const { status } = await engineer.getCluster("busy");
  expect(status?.transitions?.map(({ type }) => type)).toEqual(["Ready"]);
  const versions = async () => {
    const machines = await client.listAll(machineKind, { namespace });
    const objects = [
      await engineer.getCluster("busy"),
      await engineer.getPool("sick"),
      await engineer.getPool("auto"),
    ];
    return { machines: machines.length, versions: objects.map(({ metadata }) => metadata.resourceVersion) };
  };
  const before = await waitFor("two seconds of rest", async () => {
    const now = await versions();
    await new Promise((resolve) => setTimeout(resolve, 2000));
    return JSON.stringify(await versions()) === JSON.stringify(now) ? now : undefined;
  });
  // A change without effect triggers every reconcile again.
  await engineer.patchCluster("busy", { metadata: { annotations: { "example.com/touched": "yes" } } });
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const after = await versions();
  expect(after.versions.slice(1)).toEqual(before.versions.slice(1));
});

async function waitForNodes(name: string, nodes: number): Promise<void> {
  await waitFor(`${nodes} nodes in ${name}`, async () => {
    const { status } = await engineer.getPool(name);
    const converged = status?.nodes === nodes && status.readyNodes === nodes && status.phase === "Ready";
    // The counts come from another object of Cluster API than the machines.
    const machines = (status?.machines ?? []).filter(({ node, ready }) => node !== undefined && ready);
    if (converged && machines.length === nodes && status.machines?.length === nodes) return true;
    throw new Error(`${status?.phase}: ${status?.readyNodes} of ${status?.nodes} nodes`);
  });
}

async function expectAutoscaling(name: string, status: string, reason: string): Promise<void> {
  await waitFor(`Autoscaling ${status} ${reason}`, async () => {
    const condition = conditionOf(await engineer.getPool(name), "Autoscaling");
    if (condition?.status === status && condition.reason === reason) return true;
    throw new Error(`${condition?.status} ${condition?.reason}`);
  });
}

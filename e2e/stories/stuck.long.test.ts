import { afterAll, describe, expect, test } from "vitest";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import {
  conditionOf,
  createEngineer,
  type Engineer,
  machineKind,
  machineSetKind,
  statusOf,
  waitForCluster,
} from "../testing/custom-resources.ts";

const stack = readStack();
const engineers: Engineer[] = [];
const TEST = { fieldManager: "test" };

afterAll(async () => {
  for (const engineer of engineers) await engineer.close();
});

async function openOrganization(): Promise<Engineer> {
  const engineer = await createEngineer(stack);
  engineers.push(engineer);
  return engineer;
}

/** Creates the quota `none` and waits until it counts. */
async function createQuota({ namespace }: Engineer, hard: string): Promise<void> {
  await kubectl(["create", "quota", "none", "-n", namespace, `--hard=${hard}`]);
  await waitFor("the quota to be observed", async () => {
    const args = ["get", "quota", "none", "-n", namespace, "-o", "jsonpath={.status}"];
    return (await kubectl(args)).stdout.includes("used");
  });
}

/** Cause, object and next step: in the message, in a condition, and in a Warning Event. */
async function expectReported(
  engineer: Engineer,
  object: Cluster | NodePool,
  type: "Ready" | "Stalled" | "Reconciling",
  pattern: RegExp,
  severity: "Warning" | "Normal" = "Warning",
): Promise<void> {
  expect(object.status?.message).toMatch(pattern);
  expect(conditionOf(object, type)?.message).toMatch(pattern);
  const notes = await waitFor("the Event", async () => {
    const events = await engineer.listEvents(object.metadata.name);
    const found = events.filter((event) => event.type === severity && pattern.test(event.note ?? ""));
    return found.length > 0 ? found : undefined;
  });
  expect(notes).toHaveLength(1);
}

describe.concurrent("what is stuck says so", () => {
  test("a quota: Stalled, with the message of the refusal, and continues when the quota is deleted", async () => {
    const engineer = await openOrganization();
    await createQuota(engineer, "count/clusters.cluster.x-k8s.io=0");
    await engineer.createCluster("frugal", {});
    const refused = await waitFor("the refusal", async () => {
      const cluster = await engineer.getCluster("frugal");
      return statusOf(cluster, "Stalled") === "True" ? cluster : undefined;
    });
    expect(refused.status).toMatchObject({ phase: "Failed" });
    expect(conditionOf(refused, "Stalled")?.reason).toBe("QuotaExceeded");
    await expectReported(engineer, refused, "Stalled", /exceeded quota: none.*ask the platform's operator/);
    await engineer.client.delete(
      defineKind<KubeObject>({
        group: "",
        version: "v1",
        kind: "ResourceQuota",
        plural: "resourcequotas",
        namespaced: true,
      }),
      engineer.namespace,
      "none",
    );
    await waitFor("the cluster to continue", async () => {
      const { phase = "" } = (await engineer.getCluster("frugal")).status ?? {};
      return ["Provisioning", "Ready"].includes(phase);
    });
  });

  test("a machine that never joins", async () => {
    const engineer = await openOrganization();
    const { client, namespace } = engineer;
    await engineer.createCluster("waiting", {});
    await engineer.createPool("workers", "waiting", { desiredNodes: 0 });
    await waitForCluster(engineer, "waiting");
    // A wait that began before has its Event already, which names no machine.
    await waitFor(
      "the empty pool",
      async () => (await engineer.getPool("workers")).status?.phase === "Ready",
    );
    // A machine does not start without the Secret with its bootstrap data.
    await createQuota(engineer, "count/secrets=0");
    await engineer.patchPool("workers", { spec: { desiredNodes: 1 } });
    const machine = await waitFor("the machine", async () => {
      const [found] = await client.listAll(machineKind, { namespace });
      return found;
    });
    const pattern = new RegExp(
      `Machine ${machine.metadata.name} has not joined: .+ask the platform's operator`,
    );
    const stuck = await waitFor("the pool to report it", async () => {
      const pool = await engineer.getPool("workers");
      return pattern.test(pool.status?.message ?? "") ? pool : undefined;
    });
    // It may still come: its class gives it 15 minutes.
    await expectReported(engineer, stuck, "Reconciling", pattern, "Normal");
    // The status of the cluster is another one than that of its pool.
    const cluster = await waitFor("the cluster to scale", async () => {
      const found = await engineer.getCluster("waiting");
      return found.status?.phase === "Scaling" ? found : undefined;
    });
    expect(statusOf(cluster, "Ready")).toBe("True");
  });

  test("a blocked deletion", async () => {
    const engineer = await openOrganization();
    const { client, namespace } = engineer;
    await engineer.createCluster("held", {});
    await engineer.createPool("workers", "held", { desiredNodes: 1 });
    // The cluster may be ready before its pool is created.
    await waitFor("the node", async () => (await engineer.getPool("workers")).status?.readyNodes === 1);
    await waitForCluster(engineer, "held");

    const [machine] = await client.listAll(machineKind, { namespace });
    const name = machine?.metadata.name ?? "";
    const finalizers = [...(machine?.metadata.finalizers ?? []), "example.com/holds"];
    await client.mergePatch(machineKind, namespace, name, { metadata: { finalizers } }, TEST);
    await kubectl(["delete", "clusters.cloud.marina.dev", "held", "-n", namespace, "--wait=false"]);
    const pattern = /Cluster API is deleting the cluster: .+ask the platform's operator/;
    const held = await waitFor("the deletion to report what blocks it", async () => {
      const cluster = await engineer.getCluster("held");
      return pattern.test(cluster.status?.message ?? "") ? cluster : undefined;
    });
    expect(held.status?.phase).toBe("Deleting");
    expect(conditionOf(held, "Reconciling")?.message).toMatch(pattern);
    // It is no Warning of the cluster: what holds a machine is one of its pool.
    await waitFor("the Warning", async () => {
      const events = await engineer.listEvents("workers");
      return events.some(({ note, type }) => type === "Warning" && note?.includes("is being deleted"));
    });
    // Cluster API may remove its own finalizer at the same time: the version makes that a conflict.
    await waitFor("the machine to be released", async () => {
      const { metadata } = (await client.get(machineKind, namespace, name)) ?? {};
      const finalizers = metadata?.finalizers?.filter((finalizer) => finalizer !== "example.com/holds") ?? [];
      const patch = { metadata: { resourceVersion: metadata?.resourceVersion, finalizers } };
      return client.mergePatch(machineKind, namespace, name, patch, TEST);
    });
    await waitFor("the cluster to be deleted", async () => {
      const { stdout } = await kubectl(["get", "clusters.cloud.marina.dev", "-n", namespace, "-o", "name"]);
      return stdout === "";
    });
  });

  test("a deletion that Cluster API does not continue, since a Machine outlived its MachineSet, ends by itself", async () => {
    const engineer = await openOrganization();
    const { client, namespace } = engineer;
    await engineer.createPool("workers", "outlived", { desiredNodes: 1 });
    await engineer.createCluster("outlived", {});
    await waitForCluster(engineer, "outlived");
    const [machine] = await client.listAll(machineKind, { namespace });
    const name = machine?.metadata.name ?? "";
    const hook = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/test";
    const setHook = (value: string | null) =>
      client.mergePatch(machineKind, namespace, name, { metadata: { annotations: { [hook]: value } } }, TEST);
    await setHook("test");
    await client.delete(clusterKind, namespace, "outlived");
    await waitFor("the deletion of the machine", async () => {
      const found = await client.get(machineKind, namespace, name);
      return found?.metadata.deletionTimestamp !== undefined;
    });
    await waitFor("the MachineSet to be gone", async () => {
      const sets = await client.listAll(machineSetKind, { namespace });
      const released = { metadata: { finalizers: [] } };
      for (const { metadata } of sets)
        await client.mergePatch(machineSetKind, namespace, metadata.name, released, TEST);
      return sets.length === 0;
    });
    expect(await client.get(machineKind, namespace, name)).toBeDefined();
    await setHook(null);
    await waitFor("the cluster to be deleted", async () => {
      return (await client.get(clusterKind, namespace, "outlived")) === undefined;
    });
  });
});

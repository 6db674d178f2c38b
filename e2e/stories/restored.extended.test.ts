import { expect, test } from "vitest";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { ANNOTATION_DELETE_MISSING_POOLS } from "../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { readStack, waitFor } from "../platform/stack/testing.ts";
import {
  capiClusterKind,
  conditionOf,
  createEngineer,
  machineKind,
  waitForCluster,
} from "../testing/custom-resources.ts";
import { loseObject } from "../testing/lost-objects.ts";
import { setUp } from "../testing/set-up.ts";

const stack = readStack();
const BY_HAND = { fieldManager: "engineer" };
const engineer = setUp(() => createEngineer(stack));

/** The custom resources of one cluster as a backup holds them. */
interface Backup {
  cluster: Cluster;
  pool: NodePool;
}

function toManifest<T extends KubeObject & { spec: object }>({ metadata, spec }: T) {
  const { name, namespace, labels, annotations } = metadata;
  return { metadata: { name, namespace, labels, annotations }, spec };
}

async function listMachines(name: string): Promise<Set<string | undefined>> {
  const labelSelector = `cluster.x-k8s.io/cluster-name=${name}`;
  const machines = await engineer.client.listAll(machineKind, {
    namespace: engineer.namespace,
    labelSelector,
  });
  return new Set(machines.map(({ metadata }) => metadata.uid));
}

async function waitUntilGone(kind: Kind<KubeObject>, name: string): Promise<void> {
  const { client, namespace } = engineer;
  await waitFor(
    `${kind.kind} ${name} to be gone`,
    async () => (await client.get(kind, namespace, name)) === undefined,
  );
}

/** Loses the custom resources of a running cluster, as a management cluster does, and keeps those of Cluster API. */
async function loseResources(name: string): Promise<Backup> {
  const { client, namespace } = engineer;
  const backup = { cluster: await engineer.getCluster(name), pool: await engineer.getPool(name) };
  await engineer.patchCluster(name, { spec: { suspend: true } });
  await waitFor(
    "the suspension",
    async () => conditionOf(await engineer.getCluster(name), "Suspended")?.status === "True",
  );
  // Else the garbage collector takes the object of Cluster API, which has nothing to do with the loss.
  const ownerless = { metadata: { ownerReferences: null } };
  await client.mergePatch(capiClusterKind, namespace, name, ownerless, BY_HAND);
  await loseObject(stack, nodePoolKind, namespace, name);
  await waitUntilGone(nodePoolKind, name);
  await loseObject(stack, clusterKind, namespace, name);
  await waitUntilGone(clusterKind, name);
  return backup;
}

/** A cluster with two nodes that runs, whose Cluster is restored and whose NodePool is not. */
async function restoreWithoutPool(name: string): Promise<Backup & { machines: Set<string | undefined> }> {
  await engineer.createCluster(name, {});
  await engineer.createPool(name, name, { desiredNodes: 2 });
  await waitForCluster(engineer, name);
  // The cluster may be ready before its pool is created.
  await waitFor("both nodes", async () => (await engineer.getPool(name)).status?.readyNodes === 2);
  const machines = await listMachines(name);
  expect(machines.size).toBe(2);
  const backup = await loseResources(name);
  await engineer.client.create(clusterKind, toManifest(backup.cluster), BY_HAND);
  return { ...backup, machines };
}

async function waitUntilItWaits(name: string): Promise<Cluster> {
  return waitFor("the missing pools to be told", async () => {
    const cluster = await engineer.getCluster(name);
    const stalled = conditionOf(cluster, "Stalled");
    const isTold = stalled?.status === "True" && stalled.observedGeneration === cluster.metadata.generation;
    if (isTold && stalled.reason === "NodePoolsMissing") return cluster;
    throw new Error(JSON.stringify(cluster.status));
  });
}

test.concurrent("a cluster restored without its pool waits, loses no node, and goes on when the pool is back", async () => {
  const { pool, machines } = await restoreWithoutPool("returned");
  const waiting = await waitUntilItWaits("returned");
  expect(conditionOf(waiting, "Stalled")?.message).toContain(
    "missing here: returned. Create them again from the backup; or, to delete these nodes, set the annotation cloud.marina.dev/delete-missing-node-pools=true of the Cluster",
  );
  // Another change does not go on either.
  await engineer.patchCluster("returned", { spec: { version: "1.35" } });
  await waitUntilItWaits("returned");
  const capiCluster = await engineer.client.get(capiClusterKind, engineer.namespace, "returned");
  expect(capiCluster).toMatchObject({
    metadata: { ownerReferences: [{ uid: waiting.metadata.uid }] },
    spec: { topology: { version: "v1.34.2" } },
  });
  expect(await listMachines("returned")).toEqual(machines);

  await engineer.patchCluster("returned", { spec: { version: "1.34" } });
  await engineer.client.create(nodePoolKind, toManifest(pool), BY_HAND);
  await waitFor("the cluster to be ready with both nodes, and to wait no more", async () => {
    const cluster = await waitForCluster(engineer, "returned");
    return cluster.status?.nodes?.total === 2 && conditionOf(cluster, "Stalled") === undefined;
  });
  expect(await listMachines("returned")).toEqual(machines);
});

test.concurrent("a cluster restored without its pool deletes the nodes once its annotation says so, and can have others", async () => {
  const { machines } = await restoreWithoutPool("released");
  await waitUntilItWaits("released");
  expect(await listMachines("released")).toEqual(machines);

  await engineer.patchCluster("released", {
    metadata: { annotations: { [ANNOTATION_DELETE_MISSING_POOLS]: "true" } },
  });
  await waitFor("the nodes to be deleted", async () => (await listMachines("released")).size === 0);
  await waitFor("the cluster to be ready without nodes, and to wait no more", async () => {
    const cluster = await waitForCluster(engineer, "released");
    return cluster.status?.nodes?.total === 0 && conditionOf(cluster, "Stalled") === undefined;
  });
  await waitFor("the annotation to be removed", async () => {
    const { annotations = {} } = (await engineer.getCluster("released")).metadata;
    return !(ANNOTATION_DELETE_MISSING_POOLS in annotations);
  });
  await engineer.createPool("others", "released", { desiredNodes: 1 });
  await waitFor("the other node", async () => (await engineer.getPool("others")).status?.readyNodes === 1);
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { findCondition } from "../../shared/controller/conditions.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { type ClusterAccess, clusterAccessKind, findExpiry } from "../../shared/crd/cluster-access.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { readStack, waitFor } from "../platform/stack/testing.ts";
import { makeRequest } from "../testing/credentials.ts";
import {
  capiClusterKind,
  conditionOf,
  createEngineer,
  type Engineer,
  machineKind,
  waitForCluster,
} from "../testing/custom-resources.ts";
import { loseObject } from "../testing/lost-objects.ts";
import { requireEveryMachineMetered } from "../testing/machine-sets.ts";
import { AS_TOOL, bindRestoreTool, restoreObject } from "../testing/restore-tool.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const BY_HAND = { fieldManager: "engineer" };
/** An object that is as old as its id, to the minute, is not taken for one from a backup. */
const BACKUP_AGE_MS = 70_000;

let orgID: string;
let engineer: Engineer;
let unbind: () => Promise<void>;

interface Backup {
  clusters: Cluster[];
  pools: NodePool[];
  accesses: ClusterAccess[];
}

/** Two clusters of one node each, one made by REST and one by kubectl, and an access to each, made in the same way. */
beforeAll(async () => {
  const body = { name: "Restored whole" };
  orgID = expectStatus(201, await alice.call("createOrganization", { body })).id;
  // The managed fields of a backup do not know the condition of the loss: the operator removes it in a write after its status.
  engineer = await createEngineer(stack, orgID, { tolerated: /: it moves and is stuck$/ });
  unbind = await bindRestoreTool();
  const workers = { name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1, max_nodes: 3 };
  const cluster = { name: "By REST", k8s_version: "1.34.2", node_pools: [workers] };
  const { id: clusterID } = expectStatus(202, await alice.call("createCluster", { orgID, body: cluster }));
  await engineer.createCluster("by-kubectl", {});
  await engineer.createPool("by-kubectl", "by-kubectl", { desiredNodes: 1 });
  for (const { metadata } of await listAll(clusterKind)) await waitForCluster(engineer, metadata.name);
  await waitFor("a kubeconfig", async () => {
    const issued = await alice.call("issueKubeconfig", { orgID, clusterID, body: { ttl_seconds: 86_400 } });
    return expectStatus(201, issued);
  });
  const { csr } = await makeRequest();
  const spec = { clusterName: "by-kubectl", subject: "robot", ttlSeconds: 86_400, csr };
  const metadata = { name: "robot", namespace: engineer.namespace };
  await engineer.client.create(clusterAccessKind, { metadata, spec }, BY_HAND);
  await waitFor("both accesses", async () => (await listIssued()).length === 2);
});
afterAll(async () => {
  await unbind?.();
  await engineer?.close();
});

function listAll<T extends KubeObject>(kind: Kind<T>): Promise<T[]> {
  return engineer.client.listAll(kind, { namespace: engineer.namespace });
}

async function listIssued(): Promise<ClusterAccess[]> {
  const accesses = await listAll(clusterAccessKind);
  return accesses.filter(({ status }) => findCondition(status?.conditions, "Ready")?.status === "True");
}

async function readBackup(): Promise<Backup> {
  return {
    clusters: await listAll(clusterKind),
    pools: await listAll(nodePoolKind),
    accesses: await listAll(clusterAccessKind),
  };
}

/** What may never be another one: the ids, the networks, and what runs. */
async function readWorld() {
  const { clusters, pools } = await readBackup();
  const uidsOf = async (kind: Kind<KubeObject>) =>
    (await listAll(kind)).map(({ metadata }) => metadata.uid ?? "").sort();
  const served = await alice.request("GET", `/organizations/${orgID}/clusters`);
  return {
    clusters: clusters.map((cluster) => [
      cluster.metadata.name,
      idOf(cluster),
      cluster.status?.workerSubnet,
      cluster.status?.nodes,
    ]),
    pools: pools.map((pool) => [pool.metadata.name, idOf(pool)]),
    accesses: (await listIssued()).map((access) => [access.metadata.name, idOf(access), findExpiry(access)]),
    served: served.body.items.map(({ id, status }: { id: string; status: string }) => [id, status]).sort(),
    engines: await uidsOf(capiClusterKind),
    machines: await uidsOf(machineKind),
  };
}

/** Loses all custom resources of the organization, as a management cluster does, and keeps those of Cluster API. */
async function lose({ clusters, pools, accesses }: Backup): Promise<void> {
  const { client, namespace } = engineer;
  for (const { metadata } of clusters) {
    await engineer.patchCluster(metadata.name, { spec: { suspend: true } });
    const isSuspended = async () =>
      conditionOf(await engineer.getCluster(metadata.name), "Suspended")?.status === "True";
    await waitFor("the suspension", isSuspended);
    // Else the garbage collector takes the object of Cluster API, which has nothing to do with the loss.
    const ownerless = { metadata: { ownerReferences: null } };
    await client.mergePatch(capiClusterKind, namespace, metadata.name, ownerless, BY_HAND);
  }
  // Accesses that go a moment before their clusters are no revoked ones.
  for (const { metadata } of accesses) await loseObject(stack, clusterAccessKind, namespace, metadata.name);
  for (const { metadata } of clusters) await loseObject(stack, clusterKind, namespace, metadata.name);
  for (const { metadata } of pools) await loseObject(stack, nodePoolKind, namespace, metadata.name);
  await waitFor("everything to be gone", async () => {
    const left = Object.values(await readBackup()).flat();
    return left.length === 0;
  });
  const path = `/organizations/${orgID}/clusters`;
  await waitFor("REST to serve none", async () => {
    const { body } = await alice.request("GET", path);
    return body.items.length === 0;
  });
}

const isOldEnough = ({ clusters, pools, accesses }: Backup) =>
  [...clusters, ...pools, ...accesses].every(
    ({ metadata }) => Date.now() - Date.parse(metadata.creationTimestamp ?? "") > BACKUP_AGE_MS,
  );

test.each([
  { who: "the restore tool", sender: AS_TOOL, order: ["clusters", "pools", "accesses"] as const },
  // As `clusterctl move` does with the objects that it moves.
  { who: "an administrator", sender: [], order: ["accesses", "pools", "clusters"] as const },
])(
  "what REST and kubectl made is restored by $who in the order $order: ids, subnets and machines are the same, and nothing is made twice",
  async ({ sender, order }) => {
    const backup = await waitFor("the backup to be older than what is just made", async () => {
      const now = await readBackup();
      return isOldEnough(now) ? now : undefined;
    });
    const before = await readWorld();
    expect(before).toMatchObject({
      clusters: [{}, {}],
      pools: [{}, {}],
      accesses: [{}, {}],
      served: [{}, {}],
    });
    await lose(backup);
    // What runs in no record is paid for as before.
    const { running } = await requireEveryMachineMetered(stack, orgID);
    expect(running).toHaveLength(2);
    const kinds = { clusters: clusterKind, pools: nodePoolKind, accesses: clusterAccessKind };
    for (const what of order)
      for (const object of backup[what])
        await restoreObject(kinds[what] as unknown as Kind<Cluster>, object as Cluster, { sender });
    for (const { metadata } of backup.clusters) await waitForCluster(engineer, metadata.name);
    await waitFor("everything to be as it was", async () => {
      expect(await readWorld()).toEqual(before);
      return true;
    });
    await requireEveryMachineMetered(stack, orgID);
  },
);

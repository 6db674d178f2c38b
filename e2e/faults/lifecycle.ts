import { expect } from "vitest";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_CLUSTER_ID, LABEL_ID } from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { configMapKind, roleBindingKind, roleKind, secretKind } from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { PLATFORM_NAMESPACE } from "../platform/stack/marina.ts";
import {
  capiClusterKind,
  type Engineer,
  machineDeploymentKind,
  machineKind,
} from "../testing/custom-resources.ts";

/** One change of a user, and the state that it leads to. */
export interface Step {
  name: "create" | "scale" | "upgrade" | "remove pool" | "delete";
  change(engineer: Engineer): Promise<unknown>;
  /** Throws or returns false until the state is reached. */
  isDone(engineer: Engineer): Promise<boolean>;
}

/** The lifecycle of a cluster with two pools. */
export const LIFECYCLE: readonly Step[] = [
  {
    name: "create",
    async change(engineer) {
      await engineer.createCluster("sample", {});
      await engineer.createPool("front", "sample", { desiredNodes: 1 });
      await engineer.createPool("back", "sample", { desiredNodes: 1 });
    },
    isDone: (engineer) => hasConverged(engineer, "1.34.2", { front: 1, back: 1 }),
  },
  {
    name: "scale",
    change: (engineer) => engineer.patchPool("front", { spec: { desiredNodes: 2 } }),
    isDone: (engineer) => hasConverged(engineer, "1.34.2", { front: 2, back: 1 }),
  },
  {
    name: "upgrade",
    change: (engineer) => engineer.patchCluster("sample", { spec: { version: "1.35" } }),
    isDone: (engineer) => hasConverged(engineer, "1.35.1", { front: 2, back: 1 }),
  },
  {
    name: "remove pool",
    change: ({ client, namespace }) => client.delete(nodePoolKind, namespace, "back"),
    isDone: (engineer) => hasConverged(engineer, "1.35.1", { front: 2 }),
  },
  {
    name: "delete",
    change: ({ client, namespace }) => client.delete(clusterKind, namespace, "sample"),
    async isDone(engineer) {
      const left = await Promise.all([clusterKind, nodePoolKind].map((kind) => listAll(engineer, kind)));
      return left.flat().length === 0;
    },
  },
];

async function hasConverged(
  engineer: Engineer,
  version: string,
  pools: Record<string, number>,
): Promise<boolean> {
  const { status, metadata } = await engineer.getCluster("sample");
  const total = Object.values(pools).reduce((sum, nodes) => sum + nodes, 0);
  const found = await listAll(engineer, nodePoolKind);
  expect(status).toMatchObject({
    phase: "Ready",
    version,
    observedGeneration: metadata.generation,
    nodes: { total, ready: total },
    nodePools: { total: found.length, ready: found.length },
  });
  expect(found.map(({ metadata: { name } }) => name).toSorted()).toEqual(Object.keys(pools).toSorted());
  for (const [name, nodes] of Object.entries(pools)) {
    const pool = await engineer.getPool(name);
    const { generation } = pool.metadata;
    const converged = { phase: "Ready", readyNodes: nodes, nodes, version, observedGeneration: generation };
    expect(pool.status).toMatchObject(converged);
  }
  const secret = await engineer.client.get(secretKind, engineer.namespace, nameAdminSecret("sample"));
  return secret !== undefined;
}

/** Identities of the objects of a cluster, which must stay the same from one step to the next. */
export interface Identities {
  ids: (string | undefined)[];
  subnet: string | undefined;
  capiCluster: string[];
  credential: string | undefined;
  /** By pool. */
  deployments: Record<string, string>;
  machines: string[];
}

/** Reads the objects that exist for the cluster; fails when one of them exists twice. */
export async function identify(engineer: Engineer): Promise<Identities> {
  const { client, namespace } = engineer;
  const cluster = await engineer.getCluster("sample");
  const id = cluster.metadata.labels?.[LABEL_ID];
  const list = (kind: Kind<KubeObject>) => listAll(engineer, kind);
  const [capiClusters, deployments, machines, pools] = await Promise.all([
    list(capiClusterKind),
    list(machineDeploymentKind),
    list(machineKind),
    list(nodePoolKind),
  ]);
  const locks = await listLocks(engineer, id);
  expect(locks.map(({ metadata }) => metadata.name)).toEqual([
    `subnet-${cluster.status?.workerSubnet?.replace("/24", "").replaceAll(".", "-")}`,
  ]);
  expect(capiClusters).toHaveLength(1);
  expect(deployments).toHaveLength(pools.length);
  const secret = await client.get(secretKind, namespace, nameAdminSecret("sample"));
  return {
    ids: [id, ...pools.map(({ metadata }) => metadata.labels?.[LABEL_ID])],
    subnet: cluster.status?.workerSubnet,
    capiCluster: capiClusters.map(({ metadata }) => metadata.uid ?? ""),
    credential: secret?.metadata.uid,
    deployments: Object.fromEntries(
      deployments.map(({ metadata }) => [metadata.name, metadata.uid ?? ""] as const),
    ),
    machines: machines.map(({ metadata }) => metadata.uid ?? ""),
  };
}

/** No object may have been replaced during the step; only an upgrade replaces machines. */
export function expectSame(step: Step["name"], before: Identities, after: Identities): void {
  const { ids, deployments, machines, ...rest } = after;
  expect(rest).toEqual(pick(before));
  expect(before.ids).toEqual(expect.arrayContaining(ids));
  expect(before.deployments).toMatchObject(deployments);
  if (step === "create") expect(after).toEqual(before);
  if (step === "scale") expect(machines).toEqual(expect.arrayContaining(before.machines));
  if (step === "remove pool") expect(before.machines).toEqual(expect.arrayContaining(machines));
  if (step === "upgrade") expect(machines.filter((uid) => before.machines.includes(uid))).toEqual([]);
}

/** What is left of a deleted cluster. Its dependents are garbage-collected a little later. */
export async function listLeftovers(engineer: Engineer, id: string | undefined): Promise<string[]> {
  const { client, namespace } = engineer;
  const kinds: Kind<KubeObject>[] = [capiClusterKind, machineDeploymentKind, machineKind, secretKind];
  const left = await Promise.all(kinds.map((kind) => client.listAll(kind, { namespace })));
  return [...left.flat(), ...(await listLocks(engineer, id))].map(
    ({ kind, metadata }) => `${kind} ${metadata.name}`,
  );
}

function pick({ subnet, capiCluster, credential }: Identities) {
  return { subnet, capiCluster, credential };
}

/** The versions of the roles and bindings in the Namespace of the organization. */
export async function listRights(engineer: Engineer): Promise<(string | undefined)[]> {
  const kinds: Kind<KubeObject>[] = [roleKind, roleBindingKind];
  const objects = await Promise.all(kinds.map((kind) => listAll(engineer, kind)));
  return objects.flat().map(({ metadata }) => metadata.resourceVersion);
}

function listAll({ client, namespace }: Engineer, kind: Kind<KubeObject>): Promise<KubeObject[]> {
  return client.listAll(kind, { namespace });
}

function listLocks({ client }: Engineer, id: string | undefined): Promise<KubeObject[]> {
  const labelSelector = `${LABEL_CLUSTER_ID}=${id}`;
  return client.listAll(configMapKind, { namespace: PLATFORM_NAMESPACE, labelSelector });
}

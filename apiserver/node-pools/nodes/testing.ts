import { onTestFinished } from "vitest";
import { type NodePool, type NodePoolMachine, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import type { KubeClient } from "../../../shared/kube/client.ts";
import { projectObservations } from "../../resources/project/index.ts";
import { requireNodePool } from "../../resources/write/index.ts";
import type { TestApp } from "../../testing/app.ts";

/** A machine with the node `node-1`. */
export const MACHINE: NodePoolMachine = {
  name: "machine-1",
  uid: "7205b06a-a404-49fb-bc96-844d27d421e1",
  node: "node-1",
  phase: "Running",
  ready: true,
  createdAt: "2026-11-21T09:00:00Z",
};

/**
 * Gives every pool that the API server reads live these machines, until the test ends: the operator takes back at once what a test
 * reports.
 */
export function serveMachines(api: TestApp, listMachines: () => NodePoolMachine[]): void {
  const { kube } = api.deps;
  const get: KubeClient["get"] = async (kind, ...place) => {
    const object = await kube.get(kind, ...place);
    if ((kind as unknown) !== nodePoolKind || object === undefined) return object;
    const { status } = object as unknown as NodePool;
    return { ...object, status: { ...status, machines: listMachines() } } as typeof object;
  };
  replaceKube(api, { ...kube, get });
}

/** Gives the API server another client of Kubernetes until the test ends. */
export function replaceKube(api: TestApp, kube: KubeClient): void {
  const before = api.deps.kube;
  Object.assign(api.deps, { kube });
  onTestFinished(() => {
    Object.assign(api.deps, { kube: before });
  });
}

/** Projects a pool with these machines; a write of the pool takes them back. */
export async function projectMachines(
  { deps: { db } }: TestApp,
  { orgId, clusterId, id }: { orgId: string; clusterId: string; id: string },
  machines: NodePoolMachine[],
): Promise<void> {
  const pool = await requireNodePool(db, orgId, clusterId, id);
  const object = { ...pool.object, status: { ...pool.object.status, machines } };
  const seen = { ...pool, object, resourceVersion: pool.resourceVersion + 1n };
  await db.transaction((tx) => projectObservations(tx, [{ object: seen }]));
}

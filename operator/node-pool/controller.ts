import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan } from "../../shared/controller/plan.ts";
import type { StatusThrottle } from "../../shared/controller/status-throttle.ts";
import { nodePoolConditionTypes, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { type KubeObject, metadataOnly } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { Logger } from "../../shared/program/log.ts";
import { clusterOfAutoscaler } from "../autoscaler/children.ts";
import type { CacheSet, Caches, RunContext } from "../caches.ts";
import { CACHE_LAG_MS, enqueueBatchedTo, enqueueByNamespace, enqueueTo } from "../caches.ts";
import {
  capiClusterKind,
  capiPoolNameOf,
  LABEL_CAPI_CLUSTER,
  LABEL_CAPI_POOL,
  machineDeploymentKind,
  machineKind,
} from "../capi/kinds.ts";
import type { TopologyWrites } from "../capi/topology.ts";
import { findWithSameId } from "../identity/identity.ts";
import { decideOwnership } from "../identity/ownership.ts";
import { INDEX_BLOCKED, INDEX_CLUSTER } from "../indexes.ts";
import { mayUnblock } from "../quota/observe.ts";
import { describeRemainingMachineDeployment } from "./deletion.ts";
import {
  concernsPools,
  isOutsideTopology,
  type ObservedPool,
  observePool,
  type PoolSettings,
} from "./observe.ts";
import { reconcilePool } from "./reconcile.ts";
import { ownPoolStatus } from "./status.ts";

export interface PoolDeps {
  client: Pick<KubeClient, "get" | "listAll">;
  caches: Caches;
  settings: PoolSettings;
  throttle: StatusThrottle;
  topologyWrites: Pick<TopologyWrites, "findPoolWaitMs">;
  now(): Date;
  log: Pick<Logger, "warn">;
}

/** Reconciles one pool: observe, decide, apply. Rejects with a KubeError, or a StepError of another object. */
export async function runPool(deps: PoolDeps, key: string, context: RunContext): Promise<ReconcileResult> {
  const now = deps.now();
  const observed = observePool(deps.caches, deps.settings, key);
  if (observed === undefined) return undefined;
  const decided = reconcilePool(observed, now);
  const plan = deps.throttle.limit(key, decided.status && ownPoolStatus(observed.pool.status), decided);
  if (plan.releaseFinalizer) {
    const { namespace, name } = observed.pool.metadata;
    const clusterKey = toKey(namespace, observed.pool.spec.clusterName);
    const waitMs = deps.topologyWrites.findPoolWaitMs(clusterKey, name);
    if (waitMs !== undefined) return { requeueAfterMs: waitMs };
    if (await hasChild(deps, observed, clusterKey, context.signal)) return { requeueAfterMs: CACHE_LAG_MS };
  }
  await applyPlan(
    { ...context, kind: nodePoolKind, conditionTypes: nodePoolConditionTypes },
    observed.pool,
    plan,
  );
  deps.throttle.noteApplied(key, plan);
  if (plan.releaseFinalizer && observed.machineDeployment !== undefined) {
    deps.log.warn({ pool: key }, describeRemainingMachineDeployment(observed));
  }
  return { requeueAfterMs: plan.requeueAfterMs };
}

/**
 * Asks the Kubernetes API: the caches may lag behind, each by another time. Machines that they do not show would run without their pool.
 * From above: what makes an object is made before it, so nothing comes after it was seen to be gone.
 */
async function hasChild(
  { client, caches }: PoolDeps,
  { pool, machineDeployment: known }: ObservedPool,
  clusterKey: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace, name } = pool.metadata;
  const { clusterName } = pool.spec;
  const object = await client.get(capiClusterKind, namespace, clusterName, { signal });
  const { capi, nameTaken } = decideOwnership(caches.clusters.get(clusterKey), object);
  if (!isOutsideTopology(capi?.state, name)) return true;
  if (nameTaken) return false;
  const labelSelector = `${LABEL_CAPI_CLUSTER}=${clusterName},${LABEL_CAPI_POOL}=${name}`;
  const options = { namespace, labelSelector, signal };
  const machineDeployments = await client.listAll(metadataOnly(machineDeploymentKind), options);
  // One that Cluster API left behind is known.
  if (machineDeployments.some(({ metadata }) => metadata.uid !== known?.uid)) return true;
  return (await client.listAll(metadataOnly(machineKind), options)).length > 0;
}

/** Adds the key of a pool for every change that it depends on. */
export function watchNodePools(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const { caches } = cacheSet;
  const add = enqueueTo(controller);
  const addBatched = enqueueBatchedTo(controller);
  const addPoolsOf = (change: Change<KubeObject>) => {
    for (const pool of caches.nodePools.byIndex(INDEX_CLUSTER, objectKey(change.object)))
      add(objectKey(pool), change);
  };
  const addByCapiLabel = (change: Change<KubeObject>) => {
    const name = capiPoolNameOf(change.object.metadata);
    if (name !== undefined) addBatched(toKey(change.object.metadata.namespace, name), change);
  };
  const addBlocked = (change: Change<KubeObject>) => {
    const { namespace = "" } = change.object.metadata;
    if (!mayUnblock(change)) return;
    for (const pool of caches.nodePools.byIndex(INDEX_BLOCKED, namespace)) add(objectKey(pool), change);
  };
  cacheSet.listen("nodePools", (change) => add(objectKey(change.object), change));
  cacheSet.listen("nodePools", (change) => {
    for (const pool of findWithSameId(caches.nodePools, change)) add(objectKey(pool), change);
  });
  cacheSet.listen("nodePools", addBlocked);
  cacheSet.listen("clusters", addBlocked);
  cacheSet.listen("capiClusters", addBlocked);
  cacheSet.listen("clusters", (change) => {
    if (concernsPools(change)) addPoolsOf(change);
  });
  cacheSet.listen("capiClusters", addPoolsOf);
  cacheSet.listen("machineDeployments", addByCapiLabel);
  // A machine that is seen before its MachineSet counts as outdated until then; nothing else of a MachineSet matters.
  cacheSet.listen("machineSets", (change) => {
    if (change.type !== "updated") addByCapiLabel(change);
  });
  cacheSet.listen("machines", addByCapiLabel);
  cacheSet.listen("deployments", (change) => {
    const { namespace, name } = change.object.metadata;
    const cluster = clusterOfAutoscaler(name);
    const pools =
      cluster === undefined ? [] : caches.nodePools.byIndex(INDEX_CLUSTER, toKey(namespace, cluster));
    for (const pool of pools) add(objectKey(pool), change);
  });
  enqueueByNamespace(cacheSet, caches.nodePools, add);
}

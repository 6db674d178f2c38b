import type { Controller } from "../../shared/controller/controller.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import { clusterOfAutoscaler } from "../autoscaler/children.ts";
import type { CacheSet } from "../caches.ts";
import { capiPoolNameOf } from "../capi/kinds.ts";
import { enqueueBatchedTo, enqueueTo, isNewSpec } from "../enqueue.ts";
import { INDEX_BLOCKED, INDEX_CLUSTER, INDEX_NAMESPACE } from "../indexes.ts";

/** Adds the key of a pool for every change that it depends on. */
export function watchNodePools(set: CacheSet, controller: Pick<Controller, "add">): void {
  const { caches } = set;
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
  // Any new specification may free a quota or a name: the blocked pools are reconciled again.
  const addBlocked = (change: Change<KubeObject>) => {
    const { namespace = "" } = change.object.metadata;
    if (!isNewSpec(change)) return;
    for (const pool of caches.nodePools.byIndex(INDEX_BLOCKED, namespace)) add(objectKey(pool), change);
  };
  set.listen("nodePools", (change) => add(objectKey(change.object), change));
  set.listen("nodePools", addBlocked);
  set.listen("clusters", addBlocked);
  set.listen("capiClusters", addBlocked);
  set.listen("clusters", addPoolsOf);
  set.listen("capiClusters", addPoolsOf);
  set.listen("machineDeployments", addByCapiLabel);
  // A machine that is seen before its MachineSet counts as outdated until then; nothing else of a MachineSet matters.
  set.listen("machineSets", (change) => {
    if (change.type !== "updated") addByCapiLabel(change);
  });
  set.listen("machines", addByCapiLabel);
  set.listen("deployments", (change) => {
    const { namespace, name } = change.object.metadata;
    const cluster = clusterOfAutoscaler(name);
    const pools =
      cluster === undefined ? [] : caches.nodePools.byIndex(INDEX_CLUSTER, toKey(namespace, cluster));
    for (const pool of pools) add(objectKey(pool), change);
  });
  set.listen("namespaces", (change) => {
    const pools = caches.nodePools.byIndex(INDEX_NAMESPACE, change.object.metadata.name);
    for (const pool of pools) add(objectKey(pool), change);
  });
}

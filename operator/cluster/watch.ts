import type { Controller } from "../../shared/controller/controller.ts";
import { PRIORITY_BACKGROUND } from "../../shared/controller/queue.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import { clusterOfAdminSecret } from "../access/admin-kubeconfig.ts";
import type { CacheSet } from "../caches.ts";
import { engineClusterNameOf } from "../engine/kinds.ts";
import { INDEX_HELD_BACK, INDEX_NAMESPACE } from "../indexes.ts";

/** Which changes make a cluster worth another look. Only keys are added; what changed is looked up when it is reconciled. */
export function watchClusters(set: CacheSet, controller: Pick<Controller, "add">): void {
  const { caches } = set;
  const add = (key: string, change: Change<KubeObject>) =>
    controller.add(key, change.initial ? { priority: PRIORITY_BACKGROUND } : {});
  const addAll = (keys: string[]) => {
    for (const key of keys) controller.add(key, { priority: PRIORITY_BACKGROUND });
  };
  const addByEngineLabel = (change: Change<KubeObject>) => {
    const name = engineClusterNameOf(change.object.metadata);
    if (name !== undefined) add(toKey(change.object.metadata.namespace, name), change);
  };
  const addHeldBack = (change: Change<KubeObject>) => {
    if (!isNewSpec(change)) return;
    const { namespace = "" } = change.object.metadata;
    addAll(caches.clusters.byIndex(INDEX_HELD_BACK, namespace).map(objectKey));
    const pools = caches.nodePools.byIndex(INDEX_HELD_BACK, namespace);
    addAll(pools.map(({ spec }) => toKey(namespace, spec.clusterName)));
  };
  set.listen("clusters", (change) => add(objectKey(change.object), change));
  set.listen("engineClusters", (change) => add(objectKey(change.object), change));
  set.listen("clusters", addHeldBack);
  set.listen("engineClusters", addHeldBack);
  set.listen("nodePools", addHeldBack);
  set.listen("nodePools", (change) => {
    const { metadata, spec } = change.object;
    add(toKey(metadata.namespace, spec.clusterName), change);
  });
  set.listen("machineDeployments", addByEngineLabel);
  set.listen("machines", addByEngineLabel);
  set.listen("credentials", (change) => {
    const name = clusterOfAdminSecret(change.object.metadata.name);
    if (name !== undefined) add(toKey(change.object.metadata.namespace, name), change);
  });
  set.listen("namespaces", (change) => {
    const clusters = caches.clusters.byIndex(INDEX_NAMESPACE, change.object.metadata.name);
    for (const cluster of clusters) add(objectKey(cluster), change);
  });
  set.listen("clusterClasses", (change) => {
    if (isNewSpec(change)) addAll(caches.clusters.keys());
  });
  set.listen("catalogues", () => addAll(caches.clusters.keys()));
  set.listen("subnetLocks", (change) => {
    if (change.type !== "deleted") return;
    const waiting = caches.clusters.list().filter((cluster) => cluster.status?.workerSubnet === undefined);
    addAll(waiting.map(objectKey));
  });
}

function isNewSpec(change: Change<KubeObject>): boolean {
  return (
    change.previous?.metadata.generation !== change.object.metadata.generation || change.type !== "updated"
  );
}

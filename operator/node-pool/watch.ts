import type { Controller } from "../../shared/controller/controller.ts";
import { PRIORITY_BACKGROUND } from "../../shared/controller/queue.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import { clusterOfAutoscaler } from "../autoscaler/children.ts";
import type { CacheSet } from "../caches.ts";
import { enginePoolNameOf } from "../engine/kinds.ts";
import { INDEX_CLUSTER, INDEX_HELD_BACK, INDEX_NAMESPACE } from "../indexes.ts";

/** Which changes make a pool worth another look. Only keys are added. */
export function watchNodePools(set: CacheSet, controller: Pick<Controller, "add">): void {
  const { caches } = set;
  const add = (key: string, change: Change<KubeObject>) =>
    controller.add(key, change.initial ? { priority: PRIORITY_BACKGROUND } : {});
  const addPoolsOf = (change: Change<KubeObject>) => {
    for (const pool of caches.nodePools.byIndex(INDEX_CLUSTER, objectKey(change.object)))
      add(objectKey(pool), change);
  };
  const addByEngineLabel = (change: Change<KubeObject>) => {
    const name = enginePoolNameOf(change.object.metadata);
    if (name !== undefined) add(toKey(change.object.metadata.namespace, name), change);
  };
  // Whatever may free a quota, or take one, has those looked at again that are held back.
  const addHeldBack = (change: Change<KubeObject>) => {
    const { generation, namespace = "" } = change.object.metadata;
    if (change.type === "updated" && change.previous?.metadata.generation === generation) return;
    for (const pool of caches.nodePools.byIndex(INDEX_HELD_BACK, namespace)) add(objectKey(pool), change);
  };
  set.listen("nodePools", (change) => add(objectKey(change.object), change));
  set.listen("nodePools", addHeldBack);
  set.listen("clusters", addHeldBack);
  set.listen("engineClusters", addHeldBack);
  set.listen("clusters", addPoolsOf);
  set.listen("engineClusters", addPoolsOf);
  set.listen("machineDeployments", addByEngineLabel);
  set.listen("machines", addByEngineLabel);
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

import type { Controller } from "../../shared/controller/controller.ts";
import { PRIORITY_BACKGROUND } from "../../shared/controller/queue.ts";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import type { KubeObject, ObjectMeta } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { CacheSet } from "../caches.ts";
import { readEngineCluster } from "../engine/cluster-state.ts";
import { type EngineCluster, engineClusterNameOf } from "../engine/kinds.ts";
import { hasFinalizer } from "../identity.ts";
import { INDEX_CLUSTER, INDEX_NAMESPACE } from "../indexes.ts";
import { clusterOfAdminSecret } from "./admin-kubeconfig.ts";

/** Which changes make the access to a cluster worth another look. Only keys are added. */
export function watchAccess(set: CacheSet, controller: Pick<Controller, "add">): void {
  const add = (key: string, change: Change<KubeObject>) =>
    controller.add(key, change.initial ? { priority: PRIORITY_BACKGROUND } : {});
  const addByChild = (change: Change<KubeObject>) => {
    const { namespace, name } = change.object.metadata;
    const cluster = clusterOfAdminSecret(name);
    if (cluster !== undefined) add(toKey(namespace, cluster), change);
  };
  set.listen("clusters", (change) => {
    const [now, before] = [change.object.metadata, change.previous?.metadata];
    if (before === undefined || tellCluster(before) !== tellCluster(now))
      add(objectKey(change.object), change);
  });
  set.listen("engineClusters", (change) => {
    if (isNews(change)) add(objectKey(change.object), change);
  });
  set.listen("authorities", (change) => {
    const { metadata } = change.object;
    const cluster = engineClusterNameOf(metadata);
    if (cluster !== undefined && metadata.name === `${cluster}-ca`)
      add(toKey(metadata.namespace, cluster), change);
  });
  set.listen("credentials", addByChild);
  set.listen("roles", addByChild);
  set.listen("roleBindings", addByChild);
  // Whatever right is left of an access that is gone is swept away with the cluster's other bindings.
  set.listen("accesses", (change) => {
    if (change.type === "deleted") add(clusterKeyOf(change.object), change);
  });
}

/** Which changes make a single access worth another look. Only keys are added. */
export function watchGrants(set: CacheSet, controller: Pick<Controller, "add">): void {
  const { caches } = set;
  const add = (key: string, change: Change<KubeObject>) =>
    controller.add(key, change.initial ? { priority: PRIORITY_BACKGROUND } : {});
  const addAllOf = (clusterKey: string, change: Change<KubeObject>) => {
    for (const access of caches.accesses.byIndex(INDEX_CLUSTER, clusterKey)) add(objectKey(access), change);
  };
  set.listen("accesses", (change) => {
    // One that goes may let another one in.
    if (change.type === "deleted") addAllOf(clusterKeyOf(change.object), change);
    else add(objectKey(change.object), change);
  });
  set.listen("clusters", (change) => {
    const { metadata } = change.object;
    const going = metadata.deletionTimestamp !== change.previous?.metadata.deletionTimestamp;
    if (going || change.type !== "updated") addAllOf(objectKey(change.object), change);
  });
  set.listen("engineClusters", (change) => {
    if (isNews(change)) addAllOf(objectKey(change.object), change);
  });
  set.listen("authorities", (change) => {
    const cluster = engineClusterNameOf(change.object.metadata);
    if (cluster !== undefined) addAllOf(toKey(change.object.metadata.namespace, cluster), change);
  });
  set.listen("namespaces", (change) => {
    const accesses = caches.accesses.byIndex(INDEX_NAMESPACE, change.object.metadata.name);
    for (const access of accesses) add(objectKey(access), change);
  });
}

function clusterKeyOf(access: ClusterAccess): string {
  return toKey(access.metadata.namespace, access.spec.clusterName);
}

function tellCluster(metadata: ObjectMeta): string {
  return [metadata.generation, metadata.labels?.[LABEL_ID], hasFinalizer(metadata)].join();
}

/** Each look asks the tenant's API server: only a new endpoint or a control plane that came (back) is worth it. */
function isNews({ previous, object }: Change<EngineCluster>): boolean {
  if (previous === undefined) return true;
  const tell = (cluster: EngineCluster) => {
    const state = readEngineCluster(cluster);
    const { endpoint, controlPlaneInitialized, controlPlaneAvailable, remoteConnection } = state;
    return [
      endpoint?.url,
      controlPlaneInitialized,
      controlPlaneAvailable?.status,
      remoteConnection?.status,
    ].join();
  };
  return tell(previous) !== tell(object);
}

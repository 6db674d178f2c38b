import { isDeepStrictEqual } from "node:util";
import { findCondition } from "../../shared/controller/conditions.ts";
import type { Controller } from "../../shared/controller/controller.ts";
import { PRIORITY_BACKGROUND } from "../../shared/controller/queue.ts";
import { clusterOfAdminSecret } from "../../shared/crd/admin-secret.ts";
import { identityStateOf } from "../../shared/crd/identity.ts";
import { LABEL_ADD_ON } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { pickOccupied } from "../../shared/crd/quota.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey, splitKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { CacheSet } from "../caches.ts";
import { enqueueBatchedTo, enqueueByNamespace, enqueueTo, isNewSpec } from "../caches.ts";
import { type ClusterClass, capiClusterNameOf } from "../capi/kinds.ts";
import { clusterOfAccessSecret } from "../capi/secrets.ts";
import { findTenantFailure } from "../cluster-access/status.ts";
import { isOfCopy } from "../copies/copy.ts";
import { findWithSameId, isFinalized } from "../identity/identity.ts";
import { INDEX_BLOCKED, INDEX_NAMESPACE } from "../indexes.ts";
import { mayUnblock } from "../quota/observe.ts";

/** Adds the key of a cluster for every change of an object that is listened to; MachineSets come with the status of their pool. */
export function watchClusters(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const { caches } = cacheSet;
  const add = enqueueTo(controller);
  const addBatched = enqueueBatchedTo(controller);
  const addAll = (keys: string[]) => {
    for (const key of keys) controller.add(key, { priority: PRIORITY_BACKGROUND });
  };
  const addByCapiLabel = (change: Change<KubeObject>) => {
    const name = capiClusterNameOf(change.object.metadata);
    if (name !== undefined) addBatched(toKey(change.object.metadata.namespace, name), change);
  };
  const addBlocked = (change: Change<KubeObject>) => {
    if (!mayUnblock(change)) return;
    const { namespace = "" } = change.object.metadata;
    addAll(caches.clusters.byIndex(INDEX_BLOCKED, namespace).map(objectKey));
    const pools = caches.nodePools.byIndex(INDEX_BLOCKED, namespace);
    addAll(pools.map(({ spec }) => toKey(namespace, spec.clusterName)));
  };
  cacheSet.listen("clusters", (change) => add(objectKey(change.object), change));
  cacheSet.listen("capiClusters", (change) => add(objectKey(change.object), change));
  cacheSet.listen("clusters", addBlocked);
  cacheSet.listen("capiClusters", addBlocked);
  cacheSet.listen("nodePools", addBlocked);
  const addNamesakes = ({ type, object, previous }: Change<KubeObject>) => {
    const hasOtherState = previous !== undefined && identityStateOf(previous) !== identityStateOf(object);
    if (type !== "deleted" && !hasOtherState && !isFinalized(object)) return;
    const { name } = object.metadata;
    addAll(caches.clusters.keys().filter((key) => splitKey(key).name === name));
  };
  cacheSet.listen("clusters", (change) => {
    for (const cluster of findWithSameId(caches.clusters, change)) add(objectKey(cluster), change);
  });
  cacheSet.listen("clusters", addNamesakes);
  cacheSet.listen("capiClusters", addNamesakes);
  cacheSet.listen("nodePools", (change) => {
    const { metadata, spec } = change.object;
    if (concernsCluster(change)) add(toKey(metadata.namespace, spec.clusterName), change);
    for (const pool of findWithSameId(caches.nodePools, change))
      add(toKey(pool.metadata.namespace, pool.spec.clusterName), change);
  });
  cacheSet.listen("accesses", (change) => {
    const { object, previous, type } = change;
    const failure = type === "deleted" ? undefined : findTenantFailure(object);
    const failureBefore = previous && findTenantFailure(previous);
    if (failure !== failureBefore) add(toKey(object.metadata.namespace, object.spec.clusterName), change);
  });
  cacheSet.listen("machineDeployments", addByCapiLabel);
  cacheSet.listen("machines", addByCapiLabel);
  cacheSet.listen("clusterSecrets", (change) => {
    const name = clusterOfAccessSecret(change.object.metadata);
    if (name !== undefined && change.type !== "updated")
      add(toKey(change.object.metadata.namespace, name), change);
  });
  cacheSet.listen("issuedCredentials", (change) => {
    const name = clusterOfAdminSecret(change.object.metadata.name);
    if (name !== undefined) add(toKey(change.object.metadata.namespace, name), change);
  });
  enqueueByNamespace(cacheSet, caches.clusters, add);
  cacheSet.listen("clusterClasses", (change) => {
    if (isNewSpec(change) || hasOtherCapabilities(change)) addAll(caches.clusters.keys());
  });
  const addConcerned = (change: Change<KubeObject>) => {
    if (!isOfCopy(change, LABEL_ADD_ON)) {
      addAll(caches.clusters.keys());
      return;
    }
    const { namespace = "" } = change.object.metadata;
    for (const cluster of caches.clusters.byIndex(INDEX_NAMESPACE, namespace))
      add(objectKey(cluster), change);
  };
  cacheSet.listen("resourceSets", (change) => {
    if (isNewSpec(change)) addConcerned(change);
  });
  cacheSet.listen("addOnConfigMaps", addConcerned);
  cacheSet.listen("addOnSecrets", addConcerned);
  cacheSet.listen("resourceSetBindings", (change) => add(objectKey(change.object), change));
  cacheSet.listen("catalogues", () => addAll(caches.clusters.keys()));
  cacheSet.listen("packages", () => addAll(caches.clusters.keys()));
  cacheSet.listen("subnetAllocations", (change) => {
    if (change.type !== "deleted") return;
    const waiting = caches.clusters.list().filter((cluster) => cluster.status?.workerSubnet === undefined);
    addAll(waiting.map(objectKey));
  });
}

/** Fields of a pool's status whose changes do not enqueue its cluster, but for the machines and conditions that `pickRead` adds. */
export const POOL_STATUS_FIELDS_NOT_READ = new Set([
  "conditions",
  "machines",
  "goneMachines",
  "replacements",
  "transitions",
  "message",
  "selector",
]);

/** Whether a change of a pool is one of what its cluster reads: many writes of its status are none. */
function concernsCluster({ type, previous, object }: Change<NodePool>): boolean {
  return (
    type !== "updated" || previous === undefined || !isDeepStrictEqual(pickRead(previous), pickRead(object))
  );
}

function pickRead({ metadata, spec, status = {} }: NodePool) {
  const upToDate = findCondition(status.conditions, "UpToDate");
  return {
    metadata: { ...metadata, resourceVersion: undefined },
    spec,
    status: Object.entries(status).filter(([name]) => !POOL_STATUS_FIELDS_NOT_READ.has(name)),
    upToDate: upToDate && [upToDate.status, upToDate.observedGeneration],
    machines: pickOccupied(status.machines),
  };
}

/** The variables of a class that its extensions give it are in its status, its add-ons in its annotations. */
function hasOtherCapabilities({ previous, object }: Change<ClusterClass>): boolean {
  return (
    !isDeepStrictEqual(previous?.status?.variables, object.status?.variables) ||
    !isDeepStrictEqual(previous?.metadata.annotations, object.metadata.annotations)
  );
}

import type { Controller } from "../../shared/controller/controller.ts";
import { listConcernedNamespaces } from "../../shared/crd/organization.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { CacheSet } from "../caches.ts";
import { enqueueTo } from "../caches.ts";
import { findWithSameId } from "../identity/identity.ts";
import { INDEX_CLUSTER, INDEX_NAMESPACE } from "../indexes.ts";
import { findChangedAuthority, isTenantChanged } from "../tenant/authority.ts";

/** Adds the key of an access for every change that it depends on. */
export function watchAccesses(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const { caches } = cacheSet;
  const add = enqueueTo(controller);
  const addAllOf = (clusterKey: string, change: Change<KubeObject>) => {
    for (const access of caches.accesses.byIndex(INDEX_CLUSTER, clusterKey)) add(objectKey(access), change);
  };
  cacheSet.listen("accesses", (change) => {
    const { metadata, spec } = change.object;
    // A deleted access may free the quota for another one.
    if (change.type === "deleted") addAllOf(toKey(metadata.namespace, spec.clusterName), change);
    else add(objectKey(change.object), change);
    for (const access of findWithSameId(caches.accesses, change)) add(objectKey(access), change);
  });
  cacheSet.listen("clusters", (change) => {
    const { metadata, spec, status } = change.object;
    const isDeletion = metadata.deletionTimestamp !== change.previous?.metadata.deletionTimestamp;
    const isResumed = spec.suspend !== change.previous?.spec.suspend;
    const isReady = status?.firstReadyAt !== change.previous?.status?.firstReadyAt;
    if (isDeletion || isResumed || isReady || change.type !== "updated")
      addAllOf(objectKey(change.object), change);
  });
  cacheSet.listen("capiClusters", (change) => {
    if (isTenantChanged(change)) addAllOf(objectKey(change.object), change);
  });
  cacheSet.listen("authorities", (change) => {
    const cluster = findChangedAuthority(cacheSet.caches, change.object);
    if (cluster !== undefined) addAllOf(cluster, change);
  });
  cacheSet.listen("namespaces", (change) => {
    for (const namespace of listConcernedNamespaces(caches.namespaces, change))
      for (const access of caches.accesses.byIndex(INDEX_NAMESPACE, namespace))
        add(objectKey(access), change);
  });
}

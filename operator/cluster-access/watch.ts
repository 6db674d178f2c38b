import type { Controller } from "../../shared/controller/controller.ts";
import { clusterOfAdminSecret } from "../../shared/crd/admin-secret.ts";
import type { Secret } from "../../shared/kube/core-kinds.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { CacheSet } from "../caches.ts";
import { enqueueByNamespace, enqueueTo } from "../caches.ts";
import { findWithSameId, isRecreationRequested } from "../identity/identity.ts";
import { INDEX_CLUSTER } from "../indexes.ts";
import { ANNOTATION_CAPI_UID, ANNOTATION_LOST_CA, enqueueByTenantAccess } from "../tenant/access.ts";

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
    const isRecreated =
      isRecreationRequested(change.object) !==
      (change.previous !== undefined && isRecreationRequested(change.previous));
    const isReady = status?.firstReadyAt !== change.previous?.status?.firstReadyAt;
    if (isDeletion || isResumed || isRecreated || isReady || change.type !== "updated")
      addAllOf(objectKey(change.object), change);
  });
  enqueueByTenantAccess(cacheSet, addAllOf);
  cacheSet.listen("issuedCredentials", (change) => {
    const { namespace, name } = change.object.metadata;
    const cluster = clusterOfAdminSecret(name);
    if (cluster !== undefined && caOf(change.previous) !== caOf(change.object))
      addAllOf(toKey(namespace, cluster), change);
  });
  enqueueByNamespace(cacheSet, caches.accesses, add);
}

/** The CA that an admin kubeconfig holds, and of which Cluster API cluster: it is renewed for other reasons, too. */
function caOf(secret: Secret | undefined): string {
  const annotations = secret?.metadata.annotations ?? {};
  return `${annotations[ANNOTATION_CAPI_UID]} ${annotations[ANNOTATION_LOST_CA]} ${secret?.data?.["ca.crt"]}`;
}

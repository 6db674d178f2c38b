import type { Controller } from "../../shared/controller/controller.ts";
import { clusterOfAdminSecret } from "../../shared/crd/admin-secret.ts";
import type { ObjectMeta } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { CacheSet } from "../caches.ts";
import { enqueueTo } from "../enqueue.ts";
import { findChangedAuthority, isTenantChanged } from "../tenant/changes.ts";

/** Adds the key of a cluster for every change that the bindings in it depend on; each run connects to it. */
export function watchTenantBindings(set: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  set.listen("clusters", (change) => {
    const before = change.previous?.metadata;
    if (before === undefined || summarize(before) !== summarize(change.object.metadata)) {
      add(objectKey(change.object), change);
    }
  });
  set.listen("capiClusters", (change) => {
    if (isTenantChanged(change)) add(objectKey(change.object), change);
  });
  set.listen("authorities", (change) => {
    const cluster = findChangedAuthority(set.caches, change.object);
    if (cluster !== undefined) add(cluster, change);
  });
  set.listen("credentials", (change) => {
    const { namespace, name } = change.object.metadata;
    const cluster = clusterOfAdminSecret(name);
    if (cluster !== undefined) add(toKey(namespace, cluster), change);
  });
  // A binding that a deleted access left behind is removed with the cluster's other unknown bindings.
  set.listen("accesses", (change) => {
    const { metadata, spec } = change.object;
    if (change.type === "deleted") add(toKey(metadata.namespace, spec.clusterName), change);
  });
}

function summarize({ generation, deletionTimestamp }: ObjectMeta): string {
  return `${generation} ${deletionTimestamp}`;
}

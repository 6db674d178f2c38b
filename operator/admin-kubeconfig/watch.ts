import type { Controller } from "../../shared/controller/controller.ts";
import { clusterOfAdminSecret } from "../../shared/crd/admin-secret.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { idOf } from "../../shared/crd/identity.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { CacheSet } from "../caches.ts";
import { enqueueTo } from "../enqueue.ts";
import { hasFinalizer } from "../identity/identity.ts";
import { findChangedAuthority, isTenantChanged } from "../tenant/changes.ts";

/** Adds the key of a cluster for every change that its admin kubeconfig depends on. */
export function watchAdminKubeconfigs(set: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  const addByChild = (change: Change<KubeObject>) => {
    const { namespace, name } = change.object.metadata;
    const cluster = clusterOfAdminSecret(name);
    if (cluster !== undefined) add(toKey(namespace, cluster), change);
  };
  set.listen("clusters", (change) => {
    const before = change.previous;
    if (before === undefined || summarize(before) !== summarize(change.object)) {
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
  set.listen("credentials", addByChild);
  set.listen("roles", addByChild);
  set.listen("roleBindings", addByChild);
}

function summarize(object: Cluster): string {
  const { metadata } = object;
  return `${metadata.generation} ${idOf(object)} ${hasFinalizer(metadata)}`;
}

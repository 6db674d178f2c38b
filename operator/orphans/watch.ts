import type { Controller } from "../../shared/controller/controller.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { CacheSet } from "../caches.ts";
import { enqueueTo } from "../enqueue.ts";
import { isDeleting } from "../identity/identity.ts";

/** Adds the key of a cluster when it, or a pool of it, is being deleted. */
export function watchOrphans(set: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  set.listen("clusters", (change) => {
    if (isDeleting(change.object)) add(objectKey(change.object), change);
  });
  set.listen("nodePools", (change) => {
    const { metadata, spec } = change.object;
    if (isDeleting(change.object)) add(toKey(metadata.namespace, spec.clusterName), change);
  });
}

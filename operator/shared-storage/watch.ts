import type { Controller } from "../../shared/controller/controller.ts";
import { STORAGE_INVENTORY_NAME } from "../../shared/crd/storage-inventory.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { CacheSet } from "../caches.ts";
import { enqueueTo, isNewSpec } from "../enqueue.ts";

/** Adds the key of an inventory when it, or the organization of its Namespace, changed. Its own status is none of these. */
export function watchInventories(set: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  set.listen("inventories", (change) => {
    if (isNewSpec(change)) add(objectKey(change.object), change);
  });
  set.listen("namespaces", (change) => {
    add(toKey(change.object.metadata.name, STORAGE_INVENTORY_NAME), change);
  });
}

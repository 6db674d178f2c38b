import type { Controller } from "../../shared/controller/controller.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { CacheSet } from "../caches.ts";
import { enqueueTo } from "../enqueue.ts";
import { mayConcernClusterAPI } from "./subject.ts";

/** Adds every Event that may be about Cluster API; an expired Event is not worth a reconcile. */
export function watchEvents(set: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  set.listen("events", (change) => {
    if (change.type !== "deleted" && mayConcernClusterAPI(change.object))
      add(objectKey(change.object), change);
  });
}

import type { Controller } from "../../shared/controller/controller.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { CacheSet } from "../caches.ts";
import { enqueueTo } from "../enqueue.ts";
import { mayBeMirrored } from "./subject.ts";

/** Adds every Event that may be mirrored; an expired Event is not worth a reconcile. */
export function watchClusterEvents(set: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  set.listen("events", (change) => {
    if (change.type !== "deleted" && mayBeMirrored(change.object)) add(objectKey(change.object), change);
  });
}

import type { Controller } from "../../shared/controller/controller.ts";
import { PRIORITY_BACKGROUND } from "../../shared/controller/queue.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { CacheSet } from "../caches.ts";
import { mayConcernEngine } from "./mirror.ts";

/** Every Event that is about a cluster's machinery is worth telling; an Event that expired is not. */
export function watchEvents(set: CacheSet, controller: Pick<Controller, "add">): void {
  set.listen("events", (change) => {
    if (change.type === "deleted" || !mayConcernEngine(change.object)) return;
    controller.add(objectKey(change.object), change.initial ? { priority: PRIORITY_BACKGROUND } : {});
  });
}

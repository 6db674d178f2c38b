import type { Controller } from "../../shared/controller/controller.ts";
import type { CacheSet } from "../caches.ts";
import { enqueueTo, isNewSpec } from "../enqueue.ts";
import { CAPABILITIES } from "./run.ts";

/** Publishes the capabilities again when a class or a package changes, or somebody else writes what is published. */
export function watchCapabilities(set: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  set.listen("clusterClasses", (change) => {
    if (isNewSpec(change)) add(CAPABILITIES, change);
  });
  set.listen("packages", (change) => add(CAPABILITIES, change));
  set.listen("capabilities", (change) => add(CAPABILITIES, change));
}

import type { Controller } from "../../shared/controller/controller.ts";
import type { CacheSet } from "../caches.ts";
import { enqueueTo } from "../enqueue.ts";
import { CAPABILITIES } from "./run.ts";

/**
 * Publishes the capabilities again when a package or anything of a class changes, its status included, which has the variables of
 * its extensions, or when somebody else writes what is published.
 */
export function watchCapabilities(set: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  set.listen("clusterClasses", (change) => add(CAPABILITIES, change));
  set.listen("packages", (change) => add(CAPABILITIES, change));
  set.listen("capabilities", (change) => add(CAPABILITIES, change));
}

import type { Controller } from "../shared/controller/controller.ts";
import { PRIORITY_BACKGROUND } from "../shared/controller/queue.ts";
import type { KubeObject } from "../shared/kube/kind.ts";
import type { Change } from "../shared/kube/reflector.ts";

export type Enqueue = (key: string, change: Change<KubeObject>) => void;

/** Adds keys to a controller; those of an initial list with low priority. */
export function enqueueTo(controller: Pick<Controller, "add">): Enqueue {
  return (key, change) => controller.add(key, change.initial ? { priority: PRIORITY_BACKGROUND } : {});
}

/** Whether an object came, went, or has another specification than before. */
export function isNewSpec({ type, previous, object }: Change<KubeObject>): boolean {
  return type !== "updated" || previous?.metadata.generation !== object.metadata.generation;
}

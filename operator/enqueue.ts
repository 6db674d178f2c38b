import type { Controller } from "../shared/controller/controller.ts";
import { PRIORITY_BACKGROUND } from "../shared/controller/queue.ts";
import type { KubeObject } from "../shared/kube/kind.ts";
import type { Change } from "../shared/kube/reflector.ts";

export type Enqueue = (key: string, change: Change<KubeObject>) => void;

/** Adds keys to a controller; those of an initial list with low priority. */
export function enqueueTo(controller: Pick<Controller, "add">): Enqueue {
  return (key, change) => controller.add(key, change.initial ? { priority: PRIORITY_BACKGROUND } : {});
}

/** A step of Cluster API changes several of its objects, each one several times, within a few 100 ms. */
const BATCH_MS = 250;

/**
 * As `enqueueTo`, for objects that Cluster API makes: the changes within 250 ms after the first one lead to one reconcile.
 * Whatever else adds the key meanwhile, as a change of its specification does, runs it at once.
 */
export function enqueueBatchedTo(controller: Pick<Controller, "add">): Enqueue {
  return (key, change) =>
    controller.add(key, change.initial ? { priority: PRIORITY_BACKGROUND } : { afterMs: BATCH_MS });
}

/** Whether an object came, went, or has another specification than before. */
export function isNewSpec({ type, previous, object }: Change<KubeObject>): boolean {
  return type !== "updated" || previous?.metadata.generation !== object.metadata.generation;
}

import { splitKey } from "../kube/object.ts";

/** Waiting keys, each with the time it became ready. Round robin over namespaces; within one, first in, first out. */
export interface FairQueue {
  add(key: string, readyAt: number): void;
  /** Removes this key; returns the time it became ready, undefined when it is not queued. */
  remove(key: string): number | undefined;
  /** Removes and returns the next key of a namespace that is not busy; undefined when there is none. */
  next(isBusy?: (namespace: string) => boolean): { key: string; readyAt: number } | undefined;
}

/**
 * A namespace is an organization: one that queues ninety keys at once gets every second turn while another one waits. Both
 * Maps keep the order of arrival, so `next` takes constant time.
 */
export function createFairQueue(): FairQueue {
  const queues = new Map<string, Map<string, number>>();

  function remove(key: string): number | undefined {
    const namespace = namespaceOf(key);
    const queue = queues.get(namespace);
    const readyAt = queue?.get(key);
    queue?.delete(key);
    if (queue?.size === 0) queues.delete(namespace);
    return readyAt;
  }

  return {
    add(key, readyAt) {
      const namespace = namespaceOf(key);
      const queue = queues.get(namespace) ?? new Map<string, number>();
      queues.set(namespace, queue.set(key, readyAt));
    },
    remove,
    next(isBusy) {
      for (const [namespace, queue] of queues) {
        if (isBusy?.(namespace) === true) continue;
        for (const [key, readyAt] of queue) {
          queue.delete(key);
          queues.delete(namespace);
          if (queue.size > 0) queues.set(namespace, queue);
          return { key, readyAt };
        }
      }
      return undefined;
    },
  };
}

/** The namespace of a key; "" for a key without one. */
export function namespaceOf(key: string): string {
  return splitKey(key).namespace ?? "";
}

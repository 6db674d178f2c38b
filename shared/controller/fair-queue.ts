import { splitKey } from "../kube/object.ts";

/** Keys that wait, each with the time it became ready. The namespaces take turns; within one, first in, first out. */
export interface FairQueue {
  add(key: string, readyAt: number): void;
  /** Takes this key out; the time it became ready, undefined when it does not wait here. */
  remove(key: string): number | undefined;
  /** Takes out the key whose turn it is; undefined when nobody waits. */
  next(): { key: string; readyAt: number } | undefined;
}

/**
 * A namespace is an organization: one that asks for ninety things at once gets every second turn while another one asks
 * for anything. Both Maps keep the order of arrival, so a turn costs the same however many wait.
 */
export function createFairQueue(): FairQueue {
  const lines = new Map<string, Map<string, number>>();

  function remove(key: string): number | undefined {
    const namespace = namespaceOf(key);
    const line = lines.get(namespace);
    const readyAt = line?.get(key);
    line?.delete(key);
    if (line?.size === 0) lines.delete(namespace);
    return readyAt;
  }

  return {
    add(key, readyAt) {
      const namespace = namespaceOf(key);
      const line = lines.get(namespace) ?? new Map<string, number>();
      lines.set(namespace, line.set(key, readyAt));
    },
    remove,
    next() {
      for (const [namespace, line] of lines) {
        for (const [key, readyAt] of line) {
          line.delete(key);
          lines.delete(namespace);
          if (line.size > 0) lines.set(namespace, line);
          return { key, readyAt };
        }
      }
      return undefined;
    },
  };
}

function namespaceOf(key: string): string {
  return splitKey(key).namespace ?? "";
}

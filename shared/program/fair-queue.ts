/** Waiting entries of tenants. Round robin over tenants; within one, first in, first out. */
export interface FairQueue<K, V> {
  add(tenant: string, key: K, value: V): void;
  /** Removes this key; returns its value, undefined when it is not queued. */
  remove(tenant: string, key: K): V | undefined;
  /** Removes and returns the next entry; undefined when there is none of a tenant whose turn `mayTake` allows. */
  next(mayTake?: (tenant: string) => boolean): { tenant: string; key: K; value: V } | undefined;
}

/**
 * A tenant that queues ninety entries at once gets every second turn while another one waits. Both Maps keep the order
 * of arrival, so `next` takes constant time, but for the tenants that `mayTake` passes over.
 */
export function createFairQueue<K, V>(): FairQueue<K, V> {
  const queues = new Map<string, Map<K, V>>();

  return {
    add(tenant, key, value) {
      const queue = queues.get(tenant) ?? new Map<K, V>();
      queues.set(tenant, queue.set(key, value));
    },
    remove(tenant, key) {
      const queue = queues.get(tenant);
      const value = queue?.get(key);
      queue?.delete(key);
      if (queue?.size === 0) queues.delete(tenant);
      return value;
    },
    next(mayTake = () => true) {
      for (const [tenant, queue] of queues) {
        if (!mayTake(tenant)) continue;
        for (const [key, value] of queue) {
          queue.delete(key);
          queues.delete(tenant);
          if (queue.size > 0) queues.set(tenant, queue);
          return { tenant, key, value };
        }
      }
      return undefined;
    },
  };
}

/** A number of slots for each key: a tenant, or an object. */
export interface KeyedSlots {
  /** A slot, when one of this key is free now; then as `take`. */
  tryTake(key: string): (() => void) | undefined;
  /**
   * Waits for a slot of the key, first come, first served. Resolves with the function that returns it, to be called
   * once; rejects with the reason of `signal` when that aborts first.
   */
  take(key: string, signal?: AbortSignal): Promise<() => void>;
  /** How many wait for a slot of this key. */
  countWaiting(key: string): number;
}

/** Lets each key have `perKey` things done at once. Keys without work cost no memory. */
export function createKeyedSlots(perKey: number): KeyedSlots {
  const taken = new Map<string, number>();
  const waiting = new Map<string, Set<() => void>>();

  function release(key: string): void {
    const waiters = waiting.get(key);
    const [next] = waiters ?? [];
    if (next !== undefined) {
      forget(key, next);
      next();
      return;
    }
    const left = (taken.get(key) ?? 1) - 1;
    if (left === 0) taken.delete(key);
    else taken.set(key, left);
  }

  function forget(key: string, waiter: () => void): void {
    const waiters = waiting.get(key);
    waiters?.delete(waiter);
    if (waiters?.size === 0) waiting.delete(key);
  }

  function tryTake(key: string): (() => void) | undefined {
    const count = taken.get(key) ?? 0;
    if (count >= perKey) return undefined;
    taken.set(key, count + 1);
    return () => release(key);
  }

  return {
    tryTake,
    async take(key, signal) {
      signal?.throwIfAborted();
      const free = tryTake(key);
      if (free !== undefined) return free;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const onAbort = () => {
        forget(key, resolve);
        reject(signal?.reason);
      };
      waiting.set(key, (waiting.get(key) ?? new Set()).add(resolve));
      signal?.addEventListener("abort", onAbort, { once: true });
      await promise.finally(() => signal?.removeEventListener("abort", onAbort));
      return () => release(key);
    },
    countWaiting: (key) => waiting.get(key)?.size ?? 0,
  };
}

/** For whom work is done. */
export interface TenantContext {
  /** Whose share of a common resource the work uses: the id of an organization or of a user. */
  tenant: string;
  /** The work changes nothing, and may be slower than what does. */
  isDryRun?: boolean;
  /** Aborts when no caller waits for the result any more; undefined for work that is completed all the same. */
  readonly signal: AbortSignal | undefined;
}

/** A number of slots for each key: a tenant, or an object. */
export interface KeyedSlots {
  /** A slot, when one of this key is free now; then as `take`. */
  tryTake(key: string): (() => void) | undefined;
  /**
   * Waits for a slot of the key, first come, first served, or with priority before all others. Resolves with the function that
   * returns it, to be called once; rejects with the reason of `signal` when that aborts first.
   */
  take(key: string, signal?: AbortSignal, options?: { hasPriority?: boolean }): Promise<() => void>;
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
    async take(key, signal, { hasPriority = false } = {}) {
      signal?.throwIfAborted();
      const free = tryTake(key);
      if (free !== undefined) return free;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const onAbort = () => {
        forget(key, resolve);
        reject(signal?.reason);
      };
      const others = waiting.get(key) ?? new Set();
      waiting.set(key, hasPriority ? new Set([resolve, ...others]) : others.add(resolve));
      signal?.addEventListener("abort", onAbort, { once: true });
      await promise.finally(() => signal?.removeEventListener("abort", onAbort));
      return () => release(key);
    },
    countWaiting: (key) => waiting.get(key)?.size ?? 0,
  };
}

/**
 * Like createKeyedSlots, of which all keys together have at most `all`, first come, first served. Whoever waits for
 * these has a slot of its key, so that no key has more than `perKey` among them.
 */
export function createSharedSlots(limits: { perKey: number; all: number }): KeyedSlots {
  const own = createKeyedSlots(limits.perKey);
  const shared = createKeyedSlots(limits.all);
  const together =
    (...releases: (() => void)[]) =>
    () => {
      for (const release of releases) release();
    };
  return {
    tryTake(key) {
      const releaseOwn = own.tryTake(key);
      if (releaseOwn === undefined) return undefined;
      const releaseShared = shared.tryTake("");
      if (releaseShared !== undefined) return together(releaseShared, releaseOwn);
      releaseOwn();
      return undefined;
    },
    async take(key, signal, options) {
      const releaseOwn = await own.take(key, signal, options);
      try {
        return together(await shared.take("", signal, options), releaseOwn);
      } catch (error) {
        releaseOwn();
        throw error;
      }
    },
    countWaiting: (key) => own.countWaiting(key),
  };
}

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

export interface TokenBucketLimit {
  burst: number;
  perSecond: number;
}

/** Starts with `burst` tokens and gains `perSecond`, up to `burst`. Times are milliseconds of any steady clock. */
export class TokenBucket {
  readonly #limit: TokenBucketLimit;
  #tokens: number;
  #filledAtMs: number;

  constructor(limit: TokenBucketLimit, nowMs: number) {
    this.#limit = limit;
    this.#tokens = limit.burst;
    this.#filledAtMs = nowMs;
  }

  /** The tokens at this time; negative while tokens are reserved. */
  level(nowMs: number): number {
    const gained = ((nowMs - this.#filledAtMs) / 1000) * this.#limit.perSecond;
    return Math.min(this.#limit.burst, this.#tokens + gained);
  }

  /** Takes a token; false, and nothing changes, when there is none. */
  tryTake(nowMs: number): boolean {
    if (this.level(nowMs) < 1) return false;
    this.reserve(nowMs);
    return true;
  }

  /** Takes a token, in advance when there is none. Returns the milliseconds until it is there. */
  reserve(nowMs: number): number {
    this.#tokens = this.level(nowMs) - 1;
    this.#filledAtMs = nowMs;
    return Math.max(0, (-this.#tokens / this.#limit.perSecond) * 1000);
  }

  /** Returns a reserved token that is not used. */
  cancel(): void {
    this.#tokens += 1;
  }
}

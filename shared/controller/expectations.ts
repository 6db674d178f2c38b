/** A watch cache that knows whether it has caught up with a resourceVersion. */
export interface WatchedCache {
  hasSeen(resourceVersion: string): boolean;
}

export interface Expectations {
  expect(key: string, store: WatchedCache, resourceVersion: string): void;
  /** True once everything expected under this key was seen, or 10 s after it was last expected. */
  isMet(key: string): boolean;
}

/**
 * A watch that filters by label may never show a write, only a bookmark a minute later; and a reconcile on an older
 * cache is merely repeated. So the wait is limited.
 */
const GIVE_UP_MS = 10_000;

/** Keeps per key which writes its caches have yet to show. */
export function createExpectations(now: () => number = () => performance.now()): Expectations {
  const waiting = new Map<string, { until: number; writes: Map<WatchedCache, string> }>();
  return {
    expect(key, store, resourceVersion) {
      const entry = waiting.get(key) ?? { until: 0, writes: new Map<WatchedCache, string>() };
      entry.until = now() + GIVE_UP_MS;
      entry.writes.set(store, resourceVersion);
      waiting.set(key, entry);
    },
    isMet(key) {
      const entry = waiting.get(key);
      if (entry === undefined) return true;
      const seen = [...entry.writes].every(([store, resourceVersion]) => store.hasSeen(resourceVersion));
      if (!seen && now() < entry.until) return false;
      waiting.delete(key);
      return true;
    },
  };
}

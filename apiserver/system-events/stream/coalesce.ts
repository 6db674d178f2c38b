/**
 * Coalesces concurrent calls of a query. The run that a caller gets starts after the call, so its result is never older
 * than the call; at most one run is active and one is pending.
 */
export function coalesce<T>(run: () => Promise<T>): () => Promise<T> {
  let active: Promise<unknown> = Promise.resolve();
  let pending: Promise<T> | undefined;
  return () => {
    if (pending !== undefined) return pending;
    pending = active
      .catch(() => undefined)
      .then(() => {
        pending = undefined;
        const running = run();
        active = running;
        return running;
      });
    return pending;
  };
}

/** Coalesces calls of a query for many keys: the keys of concurrent calls are read by one run, as by `coalesce`. */
export function coalesceKeys<T>(
  run: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
): (key: string) => Promise<T | undefined> {
  let keys = new Set<string>();
  const read = coalesce(() => {
    const asked = [...keys];
    keys = new Set();
    return run(asked);
  });
  return async (key) => {
    keys.add(key);
    return (await read()).get(key);
  };
}

/** Reads a value at most once in `ageMs`; undefined where the reading failed. */
export function cacheFor<T>(ageMs: number, read: () => Promise<T>): () => Promise<T | undefined> {
  let kept: { atMs: number; value: Promise<T | undefined> } | undefined;
  return () => {
    if (kept === undefined || performance.now() - kept.atMs > ageMs)
      kept = { atMs: performance.now(), value: read().catch(() => undefined) };
    return kept.value;
  };
}

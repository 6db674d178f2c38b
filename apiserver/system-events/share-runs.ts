/**
 * Shares the runs of a query among all who ask at the same time. The run that a caller gets begins after the call, so
 * that its result is never older than the question; at most one runs and one waits.
 */
export function shareRuns<T>(run: () => Promise<T>): () => Promise<T> {
  let current: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return () => {
    if (next !== undefined) return next;
    next = current
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        const running = run();
        current = running;
        return running;
      });
    return next;
  };
}

/** Resolves to true after `ms`, or to false as soon as the signal aborts. Never rejects. */
export function sleep(ms: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (passed: boolean) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      resolve(passed);
    };
    const onAbort = () => end(false);
    const timer = setTimeout(() => end(true), ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Full jitter: between 0 and base x 2^(attempt-1), at most `capMs`. `attempt` counts from 1. */
export function fullJitterMs(attempt: number, baseMs: number, capMs: number, random = Math.random): number {
  return random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt - 1, 30));
}

/** Certificates are valid from this much earlier: the clock of a verifier may be behind. */
export const CLOCK_SKEW_MS = 5 * 60_000;

/** RFC 3339 with whole seconds, as the Kubernetes API writes its times. */
export function formatTime(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** RFC 3339 with microseconds, the form of metav1.MicroTime. */
export function formatMicroTime(time: Date = new Date()): string {
  return time.toISOString().replace("Z", "000Z");
}

/** Milliseconds since `since` (RFC 3339); 0 for a time ahead, NaN for an unknown one. */
export function elapsedMs(since: string | undefined, now: Date): number {
  return Math.max(0, now.getTime() - Date.parse(since ?? ""));
}

/**
 * Milliseconds left of a wait that began at `since` (RFC 3339); undefined when it is over. A time ahead (a clock that
 * is behind) or an unknown one is not waited for.
 */
export function remainingMs(since: string | undefined, waitMs: number, now: Date): number | undefined {
  const ageMs = now.getTime() - Date.parse(since ?? "");
  return ageMs >= 0 && ageMs < waitMs ? waitMs - ageMs : undefined;
}

/** The shortest of these waits; undefined when there is none. */
export function earliest(waitsMs: readonly (number | undefined)[]): number | undefined {
  const known = waitsMs.filter((ms) => ms !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

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

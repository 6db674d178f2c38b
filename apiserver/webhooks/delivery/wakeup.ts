import { setTimeout as sleep } from "node:timers/promises";

/** Wakes a loop that waits. */
export interface Wakeup {
  wake: () => void;
  /** Resolves at the next `wake`, or when the signal aborts. */
  next: () => Promise<void>;
}

export function createWakeup(signal: AbortSignal): Wakeup {
  let resolveNext = () => {};
  signal.addEventListener("abort", () => resolveNext(), { once: true });
  return {
    wake: () => resolveNext(),
    next: () =>
      new Promise((resolve) => {
        resolveNext = resolve;
      }),
  };
}

/** Waits, at most until the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return;
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

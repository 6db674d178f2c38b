import { sleep } from "./sleep.ts";

export interface TokenBucket {
  /** Resolves when a request may be sent, first come first served; false when the signal aborted first. */
  take(signal?: AbortSignal): Promise<boolean>;
}

/** Lets `burst` through at once and `perSecond` after that. */
export function createTokenBucket(options: {
  perSecond: number;
  burst: number;
  now?: () => number;
}): TokenBucket {
  const now = options.now ?? (() => performance.now());
  let tokens = options.burst;
  let filledAt = now();

  return {
    async take(signal) {
      const at = now();
      tokens = Math.min(options.burst, tokens + ((at - filledAt) / 1000) * options.perSecond);
      filledAt = at;
      // Below zero is a reservation: it keeps those who wait in order without a list of them.
      tokens -= 1;
      if (tokens >= 0) return true;
      const passed = await sleep((-tokens / options.perSecond) * 1000, signal);
      if (!passed) tokens += 1;
      return passed;
    },
  };
}

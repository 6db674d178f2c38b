import { TokenBucket, type TokenBucketLimit } from "../token-bucket.ts";
import { sleep } from "./sleep.ts";

export interface RateLimiter {
  /** Resolves when a request may be sent, in the order of the calls; false when the signal aborted first. */
  wait(signal?: AbortSignal): Promise<boolean>;
}

/** Lets `burst` requests through at once and `perSecond` after that. */
export function createRateLimiter(limit: TokenBucketLimit): RateLimiter {
  const bucket = new TokenBucket(limit, performance.now());
  return {
    async wait(signal) {
      const waitMs = bucket.reserve(performance.now());
      if (waitMs === 0) return true;
      const passed = await sleep(waitMs, signal);
      if (!passed) bucket.cancel();
      return passed;
    },
  };
}

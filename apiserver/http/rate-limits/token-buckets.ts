import { TokenBucket } from "../../../shared/program/token-bucket.ts";
import type { RateLimit } from "../limits.ts";

/** The state of one bucket. */
export interface BucketState {
  allowed: boolean;
  /** Requests that are allowed now. */
  remaining: number;
  /** Seconds until the next request is allowed; 0 while some remain. */
  retryAfterSeconds: number;
  /** Seconds until the bucket is full again. */
  fullAfterSeconds: number;
}

export interface TokenBuckets {
  /** Takes a token from the bucket of `key`; `allowed` is false when it is empty. */
  take(key: string): BucketState;
  /** The state of the bucket, without taking a token. */
  look(key: string): BucketState;
  size(): number;
}

/** Limits memory: 100,000 buckets are about 15 MB. Beyond that the oldest bucket is dropped. */
const MAX_BUCKETS = 100_000;
const FIRST_SWEEP = 1024;

/**
 * In-memory token buckets of one size, by key. Full buckets are dropped, as they equal new ones: a sweep runs whenever
 * the number of buckets has doubled, so that its amortized cost per request is constant.
 */
export function createTokenBuckets(
  { burst, perMinute }: RateLimit,
  nowMs: () => number = () => performance.now(),
  maxBuckets = MAX_BUCKETS,
): TokenBuckets {
  const perSecond = perMinute / 60;
  const buckets = new Map<string, TokenBucket>();
  let sweepAt = Math.min(FIRST_SWEEP, maxBuckets);

  function describe(level: number, allowed: boolean): BucketState {
    return {
      allowed,
      remaining: Math.floor(level),
      retryAfterSeconds: level >= 1 ? 0 : Math.max(1, Math.ceil((1 - level) / perSecond)),
      fullAfterSeconds: Math.ceil((burst - level) / perSecond),
    };
  }

  function addBucket(key: string, now: number): TokenBucket {
    if (buckets.size >= sweepAt) dropBuckets(now);
    const bucket = new TokenBucket({ burst, perSecond }, now);
    buckets.set(key, bucket);
    return bucket;
  }

  function dropBuckets(now: number): void {
    for (const [key, bucket] of buckets) if (bucket.level(now) >= burst) buckets.delete(key);
    for (const key of buckets.keys()) {
      if (buckets.size < maxBuckets) break;
      buckets.delete(key);
    }
    sweepAt = Math.min(maxBuckets, Math.max(FIRST_SWEEP, buckets.size * 2));
  }

  return {
    take(key) {
      const now = nowMs();
      const bucket = buckets.get(key) ?? addBucket(key, now);
      const allowed = bucket.tryTake(now);
      return describe(bucket.level(now), allowed);
    },
    look(key) {
      const level = buckets.get(key)?.level(nowMs()) ?? burst;
      return describe(level, level >= 1);
    },
    size: () => buckets.size,
  };
}

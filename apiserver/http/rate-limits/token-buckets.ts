import type { RateLimit } from "../server/limits.ts";

/** What is left in a bucket after a look at it. */
export interface BucketState {
  allowed: boolean;
  /** Requests that would be let through now. */
  remaining: number;
  /** Seconds until one more is let through; 0 while there are some. */
  retryAfterSeconds: number;
  /** Seconds until the bucket is full again. */
  fullAfterSeconds: number;
}

export interface TokenBuckets {
  /** Takes one token of the bucket of `key`; `allowed` tells whether there was one. */
  take(key: string): BucketState;
  /** The same without taking. */
  look(key: string): BucketState;
  size(): number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Memory is bounded: 100,000 buckets are about 15 MB. Beyond, the one that was made first is forgotten. */
const MAX_BUCKETS = 100_000;
const FIRST_SWEEP = 1024;

/**
 * Token buckets of one size by key, in memory. A bucket that has filled up is as good as none and is dropped: a sweep
 * runs whenever the number has doubled, so that its cost is spread evenly over the requests.
 */
export function createTokenBuckets(
  { burst, perMinute }: RateLimit,
  nowMs: () => number = () => performance.now(),
  maxBuckets = MAX_BUCKETS,
): TokenBuckets {
  const buckets = new Map<string, Bucket>();
  const perMs = perMinute / 60_000;
  let sweepAt = Math.min(FIRST_SWEEP, maxBuckets);

  const levelOf = (bucket: Bucket, now: number) =>
    Math.min(burst, bucket.tokens + (now - bucket.atMs) * perMs);

  function describe(tokens: number, allowed: boolean): BucketState {
    return {
      allowed,
      remaining: Math.floor(tokens),
      retryAfterSeconds: tokens >= 1 ? 0 : Math.max(1, Math.ceil((1 - tokens) / perMs / 1000)),
      fullAfterSeconds: Math.ceil((burst - tokens) / perMs / 1000),
    };
  }

  function makeRoom(now: number): void {
    for (const [key, bucket] of buckets) if (levelOf(bucket, now) >= burst) buckets.delete(key);
    for (const key of buckets.keys()) {
      if (buckets.size < maxBuckets) break;
      buckets.delete(key);
    }
    sweepAt = Math.min(maxBuckets, Math.max(FIRST_SWEEP, buckets.size * 2));
  }

  return {
    take(key) {
      const now = nowMs();
      const bucket = buckets.get(key);
      if (bucket === undefined) {
        if (buckets.size >= sweepAt) makeRoom(now);
        buckets.set(key, { tokens: burst - 1, atMs: now });
        return describe(burst - 1, true);
      }
      const level = levelOf(bucket, now);
      // A refusal leaves the bucket alone: many small sums would lose the last digit of a token.
      if (level < 1) return describe(level, false);
      bucket.tokens = level - 1;
      bucket.atMs = now;
      return describe(bucket.tokens, true);
    },
    look(key) {
      const bucket = buckets.get(key);
      const tokens = bucket === undefined ? burst : levelOf(bucket, nowMs());
      return describe(tokens, tokens >= 1);
    },
    size: () => buckets.size,
  };
}

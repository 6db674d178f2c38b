import { createFairQueue, TokenBucket, type TokenBucketLimit } from "../program/limits.ts";

export interface RateLimiter {
  /**
   * Resolves when a request of the tenant may be sent; false when the signal aborted first. Requests of one tenant are
   * sent in the order of the calls, tenants take turns, and none gets more than half of the rate. Without a tenant the
   * service itself asks, and is bound by the whole rate alone.
   */
  wait(signal?: AbortSignal, tenant?: string): Promise<boolean>;
}

const SERVICE = "";
/** Half: while one tenant uses all it may, another finds a token at once. */
const TENANT_SHARE = 0.5;
/** Full shares are dropped whenever so many were added, so that the memory is that of the tenants of the last seconds. */
const SWEEP_EVERY = 1024;

/** Lets `burst` requests through at once and `perSecond` after that. */
export function createRateLimiter(limit: TokenBucketLimit): RateLimiter {
  const shareLimit = { burst: limit.burst * TENANT_SHARE, perSecond: limit.perSecond * TENANT_SHARE };
  const total = new TokenBucket(limit, performance.now());
  /** Shares of tenants with recent requests: a full share is the same as none. */
  const shares = new Map<string, TokenBucket>();
  const waiting = createFairQueue<object, () => void>();
  let waitingCount = 0;
  let added = 0;
  let timer: NodeJS.Timeout | undefined;

  function shareOf(tenant: string, nowMs: number): TokenBucket {
    return shares.get(tenant) ?? addShare(tenant, nowMs);
  }

  function addShare(tenant: string, nowMs: number): TokenBucket {
    const share = new TokenBucket(shareLimit, nowMs);
    shares.set(tenant, share);
    if (++added % SWEEP_EVERY === 0)
      for (const [other, bucket] of shares)
        if (bucket !== share && bucket.level(nowMs) >= shareLimit.burst) shares.delete(other);
    return share;
  }

  function sendNext(nowMs: number): boolean {
    if (total.level(nowMs) < 1) return false;
    const next = waiting.next((tenant) => tenant === SERVICE || shareOf(tenant, nowMs).level(nowMs) >= 1);
    if (next === undefined) return false;
    total.reserve(nowMs);
    if (next.tenant !== SERVICE) shareOf(next.tenant, nowMs).reserve(nowMs);
    waitingCount -= 1;
    next.value();
    return true;
  }

  function send(): void {
    clearTimeout(timer);
    const nowMs = performance.now();
    while (sendNext(nowMs));
    if (waitingCount > 0) timer = setTimeout(send, waitMs(nowMs));
  }

  /** Until the next token of all, or of a tenant's share when only that is missing. */
  function waitMs(nowMs: number): number {
    const missing = 1 - total.level(nowMs);
    return missing > 0 ? (missing / limit.perSecond) * 1000 : 1000 / shareLimit.perSecond;
  }

  return {
    async wait(signal, tenant = SERVICE) {
      if (signal?.aborted === true) return false;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const entry = {};
      const onAbort = () => {
        waiting.remove(tenant, entry);
        waitingCount -= 1;
        resolve(false);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      waiting.add(tenant, entry, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve(true);
      });
      waitingCount += 1;
      send();
      return promise;
    },
  };
}

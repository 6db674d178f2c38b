export interface TokenBucketLimit {
  burst: number;
  perSecond: number;
}

/** Starts with `burst` tokens and gains `perSecond`, up to `burst`. Times are milliseconds of any steady clock. */
export class TokenBucket {
  readonly #limit: TokenBucketLimit;
  #tokens: number;
  #filledAtMs: number;

  constructor(limit: TokenBucketLimit, nowMs: number) {
    this.#limit = limit;
    this.#tokens = limit.burst;
    this.#filledAtMs = nowMs;
  }

  /** The tokens at this time; negative while tokens are reserved. */
  level(nowMs: number): number {
    const gained = ((nowMs - this.#filledAtMs) / 1000) * this.#limit.perSecond;
    return Math.min(this.#limit.burst, this.#tokens + gained);
  }

  /** Takes a token; false, and nothing changes, when there is none. */
  tryTake(nowMs: number): boolean {
    if (this.level(nowMs) < 1) return false;
    this.reserve(nowMs);
    return true;
  }

  /** Takes a token, in advance when there is none. Returns the milliseconds until it is there. */
  reserve(nowMs: number): number {
    this.#tokens = this.level(nowMs) - 1;
    this.#filledAtMs = nowMs;
    return Math.max(0, (-this.#tokens / this.#limit.perSecond) * 1000);
  }

  /** Returns a reserved token that is not used. */
  cancel(): void {
    this.#tokens += 1;
  }
}

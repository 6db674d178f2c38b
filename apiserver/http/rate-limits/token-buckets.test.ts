import { expect, test } from "vitest";
import { createTokenBuckets } from "./rate-limit.ts";

function bucketsAt(limit: { burst: number; perMinute: number }, maxBuckets?: number) {
  const clock = { nowMs: 1_000_000 };
  const buckets = createTokenBuckets(limit, () => clock.nowMs, maxBuckets);
  return { buckets, clock };
}

test("a burst is let through, the next one has to wait for its token", () => {
  const { buckets, clock } = bucketsAt({ burst: 3, perMinute: 60 });
  expect([1, 2, 3].map(() => buckets.take("a").remaining)).toEqual([2, 1, 0]);
  expect(buckets.take("a")).toEqual({
    allowed: false,
    remaining: 0,
    retryAfterSeconds: 1,
    fullAfterSeconds: 3,
  });
  clock.nowMs += 999;
  expect(buckets.take("a").allowed).toBe(false);
  clock.nowMs += 1;
  expect(buckets.take("a").allowed).toBe(true);
});

test("asking while there is none does not push the next token away", () => {
  const { buckets, clock } = bucketsAt({ burst: 1, perMinute: 6 });
  buckets.take("a");
  for (let second = 0; second < 9; second++) {
    clock.nowMs += 1000;
    expect(buckets.take("a").allowed).toBe(false);
  }
  clock.nowMs += 1000;
  expect(buckets.take("a").allowed).toBe(true);
});

test("over any stretch of time no more is let through than burst and rate allow", () => {
  const { buckets, clock } = bucketsAt({ burst: 10, perMinute: 120 });
  let passed = 0;
  for (let step = 0; step < 6000; step++) {
    clock.nowMs += 10;
    if (buckets.take("a").allowed) passed += 1;
  }
  expect(passed).toBeGreaterThanOrEqual(10 + 119);
  expect(passed).toBeLessThanOrEqual(10 + 120);
});

test("one key does not use up what another has", () => {
  const { buckets } = bucketsAt({ burst: 1, perMinute: 1 });
  buckets.take("a");
  expect(buckets.take("a").allowed).toBe(false);
  expect(buckets.take("b").allowed).toBe(true);
});

test("a full bucket is forgotten, so that memory follows the principals of the last minutes", () => {
  const { buckets, clock } = bucketsAt({ burst: 2, perMinute: 60 });
  for (let n = 0; n < 1024; n++) buckets.take(`old-${n}`);
  clock.nowMs += 2000;
  buckets.take("new");
  expect(buckets.size()).toBe(1);
});

test("beyond the maximum number of buckets, the oldest tenth is dropped at once", () => {
  const { buckets } = bucketsAt({ burst: 2, perMinute: 1 }, 20);
  for (let n = 0; n <= 100; n++) buckets.take(`key-${n}`);
  expect(buckets.size()).toBe(19);
  expect(["key-82", "key-81", "key-100"].map((key) => buckets.look(key).remaining)).toEqual([1, 2, 1]);
});

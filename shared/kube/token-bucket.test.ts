import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTokenBucket } from "./token-bucket.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a burst passes at once, the rest at the rate and in order", async () => {
  const bucket = createTokenBucket({ perSecond: 10, burst: 2 });
  const passed: number[] = [];
  for (const nth of [1, 2, 3, 4]) void bucket.take().then(() => passed.push(nth));
  await vi.advanceTimersByTimeAsync(0);
  expect(passed).toEqual([1, 2]);
  await vi.advanceTimersByTimeAsync(100);
  expect(passed).toEqual([1, 2, 3]);
  await vi.advanceTimersByTimeAsync(100);
  expect(passed).toEqual([1, 2, 3, 4]);
});

test("one who gives up gives its place back", async () => {
  const bucket = createTokenBucket({ perSecond: 1, burst: 1 });
  await bucket.take();
  const stop = new AbortController();
  const given = bucket.take(stop.signal);
  stop.abort();
  expect(await given).toBe(false);
  const next = bucket.take();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await next).toBe(true);
});

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRateLimiter } from "./rate-limiter.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a burst passes at once, the rest in order at the rate", async () => {
  const limiter = createRateLimiter({ perSecond: 10, burst: 2 });
  const passed: number[] = [];
  for (const nth of [1, 2, 3, 4]) void limiter.wait().then(() => passed.push(nth));
  await vi.advanceTimersByTimeAsync(0);
  expect(passed).toEqual([1, 2]);
  await vi.advanceTimersByTimeAsync(100);
  expect(passed).toEqual([1, 2, 3]);
  await vi.advanceTimersByTimeAsync(100);
  expect(passed).toEqual([1, 2, 3, 4]);
});

test("an aborted wait returns its token", async () => {
  const limiter = createRateLimiter({ perSecond: 1, burst: 1 });
  await limiter.wait();
  const stop = new AbortController();
  const aborted = limiter.wait(stop.signal);
  stop.abort();
  expect(await aborted).toBe(false);
  const next = limiter.wait();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await next).toBe(true);
});

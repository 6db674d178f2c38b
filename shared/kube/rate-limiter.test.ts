import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRateLimiter } from "./call.ts";

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

test("a tenant that asks for much delays another by one turn, and the service by none", async () => {
  const limiter = createRateLimiter({ perSecond: 10, burst: 2 });
  const passed: string[] = [];
  const ask = (tenant: string | undefined, name: string) =>
    void limiter.wait(undefined, tenant === undefined ? undefined : { tenant }).then(() => passed.push(name));
  for (let nth = 1; nth <= 50; nth++) ask("loud", `loud ${nth}`);
  ask("quiet", "quiet");
  ask(undefined, "service");
  await vi.advanceTimersByTimeAsync(0);
  expect(passed).toEqual(["loud 1", "quiet"]);
  await vi.advanceTimersByTimeAsync(100);
  expect(passed).toEqual(["loud 1", "quiet", "service"]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(passed.length).toBeGreaterThan(20);
});

test("one tenant alone gets half of the rate, so that tokens are left for the next one", async () => {
  const limiter = createRateLimiter({ perSecond: 10, burst: 4 });
  let loud = 0;
  for (let nth = 1; nth <= 100; nth++) void limiter.wait(undefined, { tenant: "loud" }).then(() => loud++);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(loud).toBe(2 + 10);
  let quiet = 0;
  for (let nth = 1; nth <= 2; nth++) void limiter.wait(undefined, { tenant: "quiet" }).then(() => quiet++);
  await vi.advanceTimersByTimeAsync(0);
  expect(quiet).toBe(2);
});

test("a call of a dry run counts as three of its tenant's", async () => {
  const limiter = createRateLimiter({ perSecond: 18, burst: 12 });
  const passed = { dry: 0, other: 0 };
  const ask = (tenant: string, isDryRun: boolean, name: keyof typeof passed) =>
    void limiter.wait(undefined, { tenant, isDryRun }).then(() => passed[name]++);
  for (let nth = 1; nth <= 100; nth++) ask("loud", true, "dry");
  await vi.advanceTimersByTimeAsync(2_000);
  expect(passed.dry).toBe((6 + 18) / 3);
  for (let nth = 1; nth <= 6; nth++) ask("other", false, "other");
  await vi.advanceTimersByTimeAsync(0);
  expect(passed.other).toBe(6);
});

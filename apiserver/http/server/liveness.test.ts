import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { type LoopDelay, watchEventLoop } from "./liveness.ts";

const WINDOW_MS = 500;
const LIMIT_MS = 45;
const OPTIONS = { windowMs: WINDOW_MS, limitMs: LIMIT_MS };

afterEach(() => vi.useRealTimers());

/** Delays that the test measures. */
function aDelay(): LoopDelay & { measure(...delaysMs: number[]): void } {
  let measured: number[] = [];
  return {
    measure: (...delaysMs) => void measured.push(...delaysMs),
    percentile(percentage) {
      const sorted = measured.toSorted((a, b) => a - b);
      return (sorted[Math.floor((sorted.length * percentage) / 100)] ?? 0) * 1e6;
    },
    reset: () => {
      measured = [];
    },
    enable: () => true,
    disable: () => true,
  };
}

test("a loop that crawls for a window is not alive, and is again after one in which it turns freely", () => {
  vi.useFakeTimers();
  const delay = aDelay();
  const liveness = watchEventLoop(OPTIONS, delay);
  const isAliveAfter = (...delaysMs: number[]) => {
    delay.measure(...delaysMs);
    vi.advanceTimersByTime(WINDOW_MS);
    return liveness.isAlive();
  };
  expect(liveness.isAlive()).toBe(true);
  expect(isAliveAfter(1, 2000, 1)).toBe(true);
  expect(isAliveAfter(LIMIT_MS, LIMIT_MS, LIMIT_MS)).toBe(true);
  expect(isAliveAfter(1, LIMIT_MS + 1, LIMIT_MS + 1)).toBe(false);
  expect(isAliveAfter(1, 1, 1)).toBe(true);
  liveness.stop();
  expect(vi.getTimerCount()).toBe(0);
});

test("the delay is that of this process: turns of 60 ms are seen", async () => {
  const liveness = watchEventLoop(OPTIONS);
  while (liveness.isAlive()) {
    const end = performance.now() + 60;
    while (performance.now() < end);
    await nextTurn();
  }
  expect(liveness.isAlive()).toBe(false);
  liveness.stop();
});

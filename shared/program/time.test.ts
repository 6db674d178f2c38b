import { describe, expect, test } from "vitest";
import { earliest, elapsedMs, formatMicroTime, formatTime, remainingMs } from "./time.ts";

const NOW = new Date("2026-03-01T10:00:00.123Z");
const at = (secondsAgo: number) => new Date(NOW.getTime() - secondsAgo * 1000).toISOString();

test("times are written as the Kubernetes API writes them", () => {
  expect(formatTime(NOW)).toBe("2026-03-01T10:00:00Z");
  expect(formatMicroTime(NOW)).toBe("2026-03-01T10:00:00.123000Z");
});

describe("a wait of a minute", () => {
  test.each([
    ["has the rest left that began before", at(20), 20_000, 40_000],
    ["is over after a minute", at(60), 60_000, undefined],
    ["is not waited for when it begins in the future", at(-5), 0, undefined],
    ["is not waited for when its begin is unknown", undefined, Number.NaN, undefined],
  ])("%s", (_, since, elapsed, remaining) => {
    expect(elapsedMs(since, NOW)).toBe(elapsed);
    expect(remainingMs(since, 60_000, NOW)).toBe(remaining);
  });
});

test("of several waits the shortest counts, and none of none", () => {
  expect(earliest([undefined, 300, 20])).toBe(20);
  expect(earliest([undefined])).toBeUndefined();
});

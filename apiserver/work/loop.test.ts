import { describe, expect, test } from "vitest";
import { createLogger } from "../../shared/program/log.ts";
import { createWakeup, type LoopOptions, repeatBatches, runLoop } from "./loop.ts";

/** Longer than any test: a pause of it that ends was ended. */
const LONG_MS = 600_000;

/**
 * One round of a loop's work: what it does at once, what it does 5 ms later, and what it resolves to; else it fails.
 */
interface Round {
  during?: "wake" | "abort";
  later?: "wake" | "abort";
  waitMs?: number;
}

/** Runs a loop until it is aborted; returns when each round began, in milliseconds, and what was logged. */
async function runRounds(planned: (count: number) => Round, options: Partial<LoopOptions> = {}) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const wakeup = createWakeup(signal);
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const log = createLogger({ name: "test", level: "warn", destination });
  const beganMs: number[] = [];
  const acts = { wake: wakeup.wake, abort: () => stopping.abort() };
  const all = { log, signal, wakeup, failure: "the work failed", retryMs: LONG_MS, ...options };
  await runLoop(all, async () => {
    beganMs.push(performance.now());
    const { during, later, waitMs } = planned(beganMs.length);
    if (during !== undefined) acts[during]();
    if (later !== undefined) setTimeout(acts[later], 5);
    if (waitMs === undefined) throw new Error("no database");
    return waitMs;
  });
  return { beganMs, lines };
}

/** Twice what is given, and a third round that ends the loop. */
const twice = (round: Round) => (count: number) =>
  count < 3 ? round : { during: "abort" as const, waitMs: 0 };

describe("a loop", () => {
  test.each<[string, Round]>([
    ["a wake-up during the work", { during: "wake", waitMs: LONG_MS }],
    ["a wake-up during work that fails", { during: "wake" }],
    ["a wake-up during the pause", { later: "wake", waitMs: LONG_MS }],
    ["a wake-up during the pause of a failure", { later: "wake" }],
    ["wake-ups during both", { during: "wake", later: "wake", waitMs: LONG_MS }],
    ["no pause", { waitMs: 0 }],
    ["its pause", { waitMs: 5 }],
  ])("works again after %s", async (_, round) => {
    expect((await runRounds(twice(round))).beganMs).toHaveLength(3);
  });

  test.each<[string, Round, Partial<LoopOptions>]>([
    ["during the work", { during: "abort", waitMs: LONG_MS }, {}],
    ["during the pause", { later: "abort", waitMs: LONG_MS }, {}],
    ["during the pause of a failure", { later: "abort" }, {}],
    ["during the least interval", { later: "abort", waitMs: 0 }, { minIntervalMs: LONG_MS }],
  ])("ends when it is aborted %s", async (_, round, options) => {
    expect((await runRounds(() => round, options)).beganMs).toHaveLength(1);
  });

  test("logs a failure, and works again after the pause of one", async () => {
    const options = { retryMs: 50, fields: { job: "one" } };
    const { beganMs, lines } = await runRounds(
      (count) => (count === 1 ? {} : { during: "abort", waitMs: 0 }),
      options,
    );
    const [first = 0, second = 0] = beganMs;
    expect(second - first).toBeGreaterThan(45);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ msg: "the work failed", message: "no database", job: "one" }),
    ]);
  });

  test.each<[string, Round]>([
    ["that has nothing to wait for", { waitMs: 0 }],
    ["that is woken each time", { during: "wake", waitMs: LONG_MS }],
    ["that fails and is woken each time", { during: "wake" }],
  ])("%s keeps the least interval between the beginnings of its rounds", async (_, round) => {
    const { beganMs } = await runRounds(twice(round), { minIntervalMs: 40 });
    const [first = 0, , third = 0] = beganMs;
    expect(third - first).toBeGreaterThan(75);
  });
});

test("a wake-up wakes who waits for it, and so does the end of the signal", async () => {
  const stopping = new AbortController();
  const wakeup = createWakeup(stopping.signal);
  wakeup.wake();
  const woken = wakeup.next();
  wakeup.wake();
  await expect(woken).resolves.toBeUndefined();
  const ended = wakeup.next();
  stopping.abort();
  await expect(ended).resolves.toBeUndefined();
});

test.each([
  ["nothing", [0], 0, 1],
  ["less than a batch", [2], 2, 1],
  ["whole batches", [3, 3, 0], 6, 3],
  ["more than whole batches", [3, 3, 1], 7, 3],
])("repeated batches of %s end with the first batch that is not full", async (_, sizes, total, batches) => {
  let taken = 0;
  expect(await repeatBatches(3, undefined, async () => sizes[taken++] ?? 0)).toBe(total);
  expect(taken).toBe(batches);
});

test("repeated batches end with the one in which they are aborted, and none begins after it", async () => {
  const stopping = new AbortController();
  let batches = 0;
  const takeBatch = async () => {
    batches += 1;
    if (batches === 2) stopping.abort();
    return 3;
  };
  expect(await repeatBatches(3, stopping.signal, takeBatch)).toBe(6);
  expect(await repeatBatches(3, stopping.signal, takeBatch)).toBe(0);
  expect(batches).toBe(2);
});

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createLogger } from "../../shared/program/log.ts";
import { PATIENT } from "../../shared/program/testing-deadlines.ts";
import { createBatchQueue } from "./batch-queue.ts";

interface Work {
  key: string;
  value: number;
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function aQueue(run: (batch: readonly Work[]) => Promise<void>) {
  const stop = new AbortController();
  const queue = createBatchQueue<Work>({
    name: "test",
    batchSize: 2,
    retryMs: 1,
    keyOf: ({ key }) => key,
    run,
    log: createLogger({ name: "test", level: "silent" }),
    signal: stop.signal,
  });
  return { queue, stop };
}

describe("a batch queue", () => {
  test("runs work in batches, in order, the newest of a key once", async () => {
    const batches: Work[][] = [];
    const { queue } = aQueue(async (batch) => void batches.push([...batch]));
    for (const [key, value] of [
      ["a", 1],
      ["b", 2],
      ["a", 3],
      ["c", 4],
    ] as const)
      queue.add({ key, value });
    await queue.idle();
    expect(batches).toEqual([
      [
        { key: "a", value: 3 },
        { key: "b", value: 2 },
      ],
      [{ key: "c", value: 4 }],
    ]);
  });

  test("runs each work of a failed batch alone, and what fails again later once more", async () => {
    const done: string[] = [];
    let mayRun = false;
    const { queue } = aQueue(async (batch) => {
      if (!mayRun && batch.some(({ key }) => key === "bad")) throw new Error("no");
      done.push(...batch.map(({ key }) => key));
    });
    queue.add({ key: "bad", value: 1 });
    queue.add({ key: "good", value: 1 });
    await vi.advanceTimersByTimeAsync(10);
    expect(done).toEqual(["good"]);
    mayRun = true;
    const idle = queue.idle();
    await vi.advanceTimersByTimeAsync(2_000);
    await idle;
    expect(done).toEqual(["good", "bad"]);
  });

  test("ends after the running batch when its signal aborts", async () => {
    let finish = () => {};
    const { queue, stop } = aQueue(() => new Promise<void>((resolve) => (finish = resolve)));
    queue.add({ key: "a", value: 1 });
    await vi.advanceTimersByTimeAsync(1);
    queue.add({ key: "b", value: 1 });
    stop.abort();
    let ended = false;
    void queue.stopped.then(() => (ended = true));
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toBe(false);
    finish();
    await queue.stopped;
    await queue.idle();
  });

  test("work that has failed 15 times holds up nothing, is counted, and is done once it can be", async () => {
    let runs = 0;
    const { queue } = aQueue(async () => {
      runs += 1;
      if (runs < 20) throw new Error("no");
    });
    queue.add({ key: "bad", value: 1 });
    await queue.idle();
    expect(runs).toBe(15);
    expect(queue.failing()).toBe(1);
    await vi.waitFor(() => expect([runs, queue.failing()]).toEqual([20, 0]), PATIENT);
  });
});

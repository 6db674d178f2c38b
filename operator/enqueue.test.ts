import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createQueue } from "../shared/controller/queue.ts";
import { enqueueBatchedTo, enqueueTo } from "./caches.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const change = { type: "updated", object: { metadata: { name: "machine" } }, initial: false } as Parameters<
  ReturnType<typeof enqueueTo>
>[1];

/** How often the key was run, each run at once when it is due. */
function createRuns() {
  const queue = createQueue();
  const runs = { count: 0 };
  const work = async (): Promise<void> => {
    const item = await queue.take();
    if (item === undefined) return;
    runs.count += 1;
    queue.done(item.key);
    await work();
  };
  void work();
  return { queue, runs };
}

test("changes of what Cluster API makes lead to one run 250 ms after the first, however many follow", async () => {
  const { queue, runs } = createRuns();
  const add = enqueueBatchedTo(queue);
  for (let count = 0; count < 10; count++) {
    add("org/blue", change);
    await vi.advanceTimersByTimeAsync(24);
  }
  expect(runs.count).toBe(0);
  await vi.advanceTimersByTimeAsync(10);
  expect(runs.count).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(runs.count).toBe(1);
  queue.shutDown();
});

test("a change of a specification does not wait for the batch, which runs with it", async () => {
  const { queue, runs } = createRuns();
  enqueueBatchedTo(queue)("org/blue", change);
  enqueueTo(queue)("org/blue", change);
  await vi.advanceTimersByTimeAsync(0);
  expect(runs.count).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(runs.count).toBe(1);
  queue.shutDown();
});

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createQueue, PRIORITY_BACKGROUND, type Queue } from "./queue.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Takes everything that is ready, finishing each at once. */
async function drain(queue: Queue): Promise<string[]> {
  const keys: string[] = [];
  while (queue.depth > 0) {
    const item = await queue.take();
    if (item === undefined) break;
    keys.push(item.key);
    queue.done(item.key);
  }
  return keys;
}

test("a key waits at most once, first in first out", async () => {
  const queue = createQueue();
  for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
  expect(await drain(queue)).toEqual(["a", "b", "c"]);
});

test("a change overtakes the background, also for a key that waits there already", async () => {
  const queue = createQueue();
  for (const key of ["a", "b", "c"]) queue.add(key, { priority: PRIORITY_BACKGROUND });
  queue.add("d");
  queue.add("c");
  queue.add("d", { priority: PRIORITY_BACKGROUND });
  expect(await drain(queue)).toEqual(["d", "c", "a", "b"]);
});

test.each([
  {
    name: "one that floods waits behind those that ask for little",
    added: ["loud/1", "loud/2", "loud/3", "a/1", "b/1", "loud/4"],
    taken: ["loud/1", "a/1", "b/1", "loud/2", "loud/3", "loud/4"],
  },
  {
    name: "three that ask for much take turns, each in its own order",
    added: ["a/1", "a/2", "a/3", "b/1", "b/2", "c/1"],
    taken: ["a/1", "b/1", "c/1", "a/2", "b/2", "a/3"],
  },
  {
    name: "what has no namespace is one of them",
    added: ["x", "y", "a/1", "a/2"],
    taken: ["x", "a/1", "y", "a/2"],
  },
])("namespaces take turns: $name", async ({ added, taken }) => {
  const queue = createQueue();
  for (const key of added) queue.add(key);
  expect(await drain(queue)).toEqual(taken);
});

test("the priority precedes the turn", async () => {
  const queue = createQueue();
  for (const key of ["a/1", "b/1"]) queue.add(key, { priority: PRIORITY_BACKGROUND });
  for (const key of ["a/2", "a/3", "a/1"]) queue.add(key);
  expect(await drain(queue)).toEqual(["a/2", "a/3", "a/1", "b/1"]);
});

test("ninety of one namespace do not delay nine of others", async () => {
  const queue = createQueue();
  for (let count = 0; count < 90; count++) queue.add(`loud/${count}`);
  for (let count = 0; count < 9; count++) queue.add(`quiet-${count}/one`);
  const order = await drain(queue);
  const last = Math.max(...order.flatMap((key, index) => (key.startsWith("quiet") ? [index] : [])));
  expect(last).toBeLessThan(10);
  expect(order).toHaveLength(99);
});

test("of a namespace only so many keys run at a time, and the next one as soon as one of them has ended", async () => {
  const queue = createQueue({ maxPerNamespace: 2 });
  for (const key of ["a/1", "a/2", "a/3", "b/1"]) queue.add(key);
  const keys = [await queue.take(), await queue.take(), await queue.take()].map((item) => item?.key);
  expect(keys).toEqual(["a/1", "b/1", "a/2"]);
  const next = queue.take();
  expect(queue.running).toBe(3);
  queue.add("a/4");
  queue.done("a/1");
  expect((await next)?.key).toBe("a/3");
  expect(queue.depth).toBe(1);
});

test("a key never runs twice at a time; added while it runs, it runs once more", async () => {
  const queue = createQueue();
  queue.add("a");
  await queue.take();
  queue.add("a");
  queue.add("a");
  const next = queue.take();
  const taken = vi.fn<() => void>();
  void next.then(taken);
  await vi.advanceTimersByTimeAsync(0);
  expect(taken).not.toHaveBeenCalled();
  queue.done("a");
  expect(await next).toEqual({ key: "a", priority: 0 });
  queue.done("a");
  expect(queue.depth).toBe(0);
});

test("of several delays the shortest counts, of several priorities the highest", async () => {
  const queue = createQueue();
  queue.add("a", { afterMs: 500, priority: PRIORITY_BACKGROUND });
  queue.add("a", { afterMs: 100, priority: PRIORITY_BACKGROUND });
  queue.add("a", { afterMs: 900 });
  await vi.advanceTimersByTimeAsync(99);
  expect(queue.depth).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(await queue.take()).toEqual({ key: "a", priority: 0 });
  queue.done("a");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(queue.depth).toBe(0);
});

test("an add without delay ends the waiting", async () => {
  const queue = createQueue();
  queue.add("a", { afterMs: 60_000 });
  queue.add("a");
  expect(await drain(queue)).toEqual(["a"]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(queue.depth).toBe(0);
});

test("a delay longer than a timer can hold does not fire at once", async () => {
  const queue = createQueue();
  queue.add("a", { afterMs: 2 ** 40 });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(queue.depth).toBe(0);
});

test("backoff doubles from 5 ms to 1000 s, is counted per key, and ends with forget", () => {
  const queue = createQueue({ random: () => 1 });
  expect([1, 2, 3, 4].map(() => queue.retry("a"))).toEqual([5, 10, 20, 40]);
  expect(queue.retry("b")).toBe(5);
  for (let failure = 0; failure < 40; failure++) queue.retry("a");
  expect(queue.retry("a")).toBe(1_000_000);
  queue.forget("a");
  expect(queue.retry("a")).toBe(5);
});

test("backoff is jittered between half and whole", () => {
  expect(createQueue({ random: () => 0 }).retry("a")).toBe(2.5);
});

test("depth and wait are reported", async () => {
  const depths: number[] = [];
  const waits: number[] = [];
  const queue = createQueue({ metrics: { onDepth: (n) => depths.push(n), onWait: (s) => waits.push(s) } });
  queue.add("a");
  queue.add("b");
  await vi.advanceTimersByTimeAsync(2_000);
  await drain(queue);
  expect(depths).toEqual([1, 2, 1, 0]);
  expect(waits).toEqual([2, 2]);
});

test("a shutdown ends waiting workers and accepts nothing more", async () => {
  const queue = createQueue();
  const waiting = queue.take();
  queue.add("later", { afterMs: 10 });
  queue.shutDown();
  expect(await waiting).toBeUndefined();
  queue.add("a");
  expect(await queue.take()).toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
});

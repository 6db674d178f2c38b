import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { batchLookups } from "./batch.ts";
import type { Database } from "./client.ts";

const one = {} as Database;
const other = {} as Database;

function record() {
  const statements: string[][] = [];
  const find = batchLookups(async (_db, keys: readonly string[]) => {
    statements.push([...keys]);
    if (keys.includes("broken")) throw new Error("no");
    return keys.map((key) => (key === "missing" ? undefined : `row of ${key}`));
  });
  return { statements, find };
}

test("lookups of one turn of the event loop are one statement, and each gets its own row", async () => {
  const { statements, find } = record();
  const rows = await Promise.all([find(one, "a"), find(one, "missing"), find(one, "a"), find(one, "b")]);
  expect(rows).toEqual(["row of a", undefined, "row of a", "row of b"]);
  expect(statements).toEqual([["a", "missing", "a", "b"]]);
});

test("a lookup is never answered by a statement that left before it was asked", async () => {
  const { statements, find } = record();
  const first = find(one, "a");
  await turn();
  await Promise.all([first, find(one, "a")]);
  expect(statements).toEqual([["a"], ["a"]]);
});

/** Statements that answer when they are told to; the clock stands still. */
function hold() {
  const statements: { keys: readonly string[]; answer: () => void }[] = [];
  let nowMs = 0;
  const find = batchLookups(
    (_db, keys: readonly string[]) =>
      new Promise<string[]>((resolve) => {
        statements.push({ keys, answer: () => resolve([...keys]) });
      }),
    () => nowMs,
  );
  return { statements, find, pass: (ms: number) => (nowMs += ms) };
}

test("what is asked while a statement is on its way is one statement after it", async () => {
  const { statements, find } = hold();
  const first = find(one, "a");
  await turn();
  const later = [find(one, "b")];
  await turn();
  later.push(find(one, "c"));
  await turn();
  expect(statements.map(({ keys }) => keys)).toEqual([["a"]]);
  statements[0]?.answer();
  expect(await first).toBe("a");
  await turn();
  expect(statements.map(({ keys }) => keys)).toEqual([["a"], ["b", "c"]]);
  statements[1]?.answer();
  expect(await Promise.all(later)).toEqual(["b", "c"]);
});

test("after a statement of several the next one waits for company, and one who asks alone does not", async () => {
  // A real millisecond may be over before the company has come.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { statements, find } = record();
  await Promise.all([find(one, "a"), find(one, "b")]);
  const crowd = [find(one, "c")];
  await turn();
  crowd.push(find(one, "d"));
  vi.advanceTimersByTime(1);
  await Promise.all(crowd);
  expect(statements).toEqual([
    ["a", "b"],
    ["c", "d"],
  ]);
  const last = find(one, "last of the crowd");
  vi.advanceTimersByTime(1);
  await last;
  const alone = find(one, "alone");
  await turn();
  expect(statements.at(-1)).toEqual(["alone"]);
  await alone;
});

test("a statement that does not come back holds nobody up for long, and its end sends nothing twice", async () => {
  const { statements, find, pass } = hold();
  const stuck = find(one, "stuck");
  await turn();
  const waiting = find(one, "a");
  pass(21);
  const late = find(one, "b");
  await turn();
  expect(statements.map(({ keys }) => keys)).toEqual([["stuck"], ["a", "b"]]);
  statements[1]?.answer();
  expect(await Promise.all([waiting, late])).toEqual(["a", "b"]);
  const next = find(one, "c");
  await vi.waitFor(() => expect(statements).toHaveLength(3));
  statements[2]?.answer();
  expect(await next).toBe("c");
  statements[0]?.answer();
  expect(await stuck).toBe("stuck");
  await turn();
  expect(statements).toHaveLength(3);
});

test("databases are apart, and a failed statement fails all who asked in it alone", async () => {
  const { statements, find } = record();
  const [a, broken, elsewhere] = await Promise.allSettled([
    find(one, "a"),
    find(one, "broken"),
    find(other, "a"),
  ]);
  expect([a.status, broken.status, elsewhere.status]).toEqual(["rejected", "rejected", "fulfilled"]);
  expect(statements).toHaveLength(2);
  expect(await find(one, "a")).toBe("row of a");
});

test("more than a hundred keys are several statements", async () => {
  const { statements, find } = record();
  const keys = Array.from({ length: 250 }, (_, n) => String(n));
  expect(await Promise.all(keys.map((key) => find(one, key)))).toEqual(keys.map((key) => `row of ${key}`));
  expect(statements.map(({ length }) => length)).toEqual([100, 100, 50]);
});

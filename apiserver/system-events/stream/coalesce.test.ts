import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { coalesce, coalesceKeys } from "./coalesce.ts";

/** A query whose runs the test ends. */
function aQuery() {
  const runs: PromiseWithResolvers<number>[] = [];
  const call = coalesce(() => {
    const run = Promise.withResolvers<number>();
    runs.push(run);
    return run.promise;
  });
  return { runs, call };
}

test("calls during a run share the next one, which starts when that has ended", async () => {
  const { runs, call } = aQuery();
  const first = call();
  await turn();
  expect(runs).toHaveLength(1);
  const [second, third] = [call(), call()];
  expect(runs).toHaveLength(1);
  runs[0]?.resolve(1);
  expect(await first).toBe(1);
  await turn();
  expect(runs).toHaveLength(2);
  runs[1]?.resolve(2);
  expect(await Promise.all([second, third])).toEqual([2, 2]);
});

test("a run that fails rejects only the calls that share it", async () => {
  const { runs, call } = aQuery();
  const first = call();
  await turn();
  expect(runs).toHaveLength(1);
  const second = call();
  runs[0]?.reject(new Error("unavailable"));
  await expect(first).rejects.toThrow("unavailable");
  await turn();
  expect(runs).toHaveLength(2);
  runs[1]?.resolve(2);
  expect(await second).toBe(2);
});

test("keys of calls during a run are read by the next one, each once", async () => {
  const runs: { keys: readonly string[]; end: PromiseWithResolvers<Map<string, number>> }[] = [];
  const read = coalesceKeys((keys) => {
    const end = Promise.withResolvers<Map<string, number>>();
    runs.push({ keys, end });
    return end.promise;
  });
  const first = read("a");
  await turn();
  expect(runs).toHaveLength(1);
  const others = [read("b"), read("c"), read("b")];
  runs[0]?.end.resolve(new Map([["a", 1]]));
  expect(await first).toBe(1);
  await turn();
  expect(runs.map(({ keys }) => keys)).toEqual([["a"], ["b", "c"]]);
  runs[1]?.end.resolve(new Map([["b", 2]]));
  expect(await Promise.all(others)).toEqual([2, undefined, 2]);
});

import { expect, test } from "vitest";
import { shareRuns } from "./share-runs.ts";

/** A query whose runs end when they are told to. */
function aQuery() {
  const runs: PromiseWithResolvers<number>[] = [];
  const ask = shareRuns(() => {
    const run = Promise.withResolvers<number>();
    runs.push(run);
    return run.promise;
  });
  return { runs, ask };
}

test("who asks while a run is under way shares the next one, which begins when that has ended", async () => {
  const { runs, ask } = aQuery();
  const first = ask();
  await expect.poll(() => runs.length).toBe(1);
  const [second, third] = [ask(), ask()];
  expect(runs).toHaveLength(1);
  runs[0]?.resolve(1);
  expect(await first).toBe(1);
  await expect.poll(() => runs.length).toBe(2);
  runs[1]?.resolve(2);
  expect(await Promise.all([second, third])).toEqual([2, 2]);
});

test("a run that fails fails those alone who asked for it", async () => {
  const { runs, ask } = aQuery();
  const first = ask();
  await expect.poll(() => runs.length).toBe(1);
  const second = ask();
  runs[0]?.reject(new Error("away"));
  await expect(first).rejects.toThrow("away");
  await expect.poll(() => runs.length).toBe(2);
  runs[1]?.resolve(2);
  expect(await second).toBe(2);
});

import { expect, test } from "vitest";
import { coalesce } from "./coalesce.ts";

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
  await expect.poll(() => runs.length).toBe(1);
  const [second, third] = [call(), call()];
  expect(runs).toHaveLength(1);
  runs[0]?.resolve(1);
  expect(await first).toBe(1);
  await expect.poll(() => runs.length).toBe(2);
  runs[1]?.resolve(2);
  expect(await Promise.all([second, third])).toEqual([2, 2]);
});

test("a run that fails rejects only the calls that share it", async () => {
  const { runs, call } = aQuery();
  const first = call();
  await expect.poll(() => runs.length).toBe(1);
  const second = call();
  runs[0]?.reject(new Error("unavailable"));
  await expect(first).rejects.toThrow("unavailable");
  await expect.poll(() => runs.length).toBe(2);
  runs[1]?.resolve(2);
  expect(await second).toBe(2);
});

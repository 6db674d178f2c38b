import { expect, test } from "vitest";
import { measureTurns } from "./testing.ts";
import { runAtOnce, runInTurns, type Steps } from "./turns.ts";

/** A computation of so many steps of 2 ms. */
function* compute(steps: number): Steps<number> {
  for (let step = 0; step < steps; step++) {
    const endsAtMs = performance.now() + 2;
    while (performance.now() < endsAtMs);
    yield;
  }
  return steps;
}

test("a computation in turns lets others have theirs between its steps, and one at once does not", async () => {
  const inTurns = await measureTurns(() => runInTurns(compute(50)));
  expect(inTurns.result).toBe(50);
  expect(inTurns.longestPart).toBeLessThan(0.5);
  const atOnce = await measureTurns(async () => runAtOnce(compute(50)));
  expect(atOnce.result).toBe(50);
  expect(atOnce.longestPart).toBeGreaterThan(0.9);
});

test("what a computation throws is thrown", async () => {
  function* fail(): Steps<never> {
    yield;
    throw new Error("no price");
  }
  await expect(runInTurns(fail())).rejects.toThrow("no price");
  expect(() => runAtOnce(fail())).toThrow("no price");
});

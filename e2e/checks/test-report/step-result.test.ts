import { describe, expect, test } from "vitest";
import { type EndedStep, summarizeSteps } from "./step-result.ts";

describe("the summary of a run of several steps", () => {
  const step = (changes: Partial<EndedStep>): EndedStep => ({
    name: "test",
    seconds: 61.2,
    exitCode: 0,
    result: { numPassedTests: 7, numFailedTests: 0 },
    tail: "last words",
    ...changes,
  });

  test("sums the steps, and ends with the line that counts", () => {
    const measured = { numPassedTests: 7, numFailedTests: 0, processorSeconds: 80.4 };
    const steps = [step({}), step({ name: "faults", seconds: 5, result: measured })];
    const { text, passed, failed } = summarizeSteps(steps);
    expect(text).toBe(
      "\n    61 s  test: 7 passed, 0 failed\n     5 s  faults: 7 passed, 0 failed, 80 s of processor\n14 passed, 0 failed\n",
    );
    expect([passed, failed]).toEqual([14, 0]);
  });

  test.each([
    [
      "its failed tests",
      step({ exitCode: 1, result: { numPassedTests: 5, numFailedTests: 2, failures: "why" } }),
      2,
      "why",
    ],
    ["a crash without a result", step({ exitCode: 139, result: undefined }), 1, "last words"],
    ["an error with green tests", step({ exitCode: 1 }), 1, "last words"],
  ])("counts and repeats %s", (_, broken, count, reason) => {
    const { text, failed } = summarizeSteps([broken]);
    expect(failed).toBe(count);
    expect(text).toContain(`FAILED step test\n${reason}`);
  });
});

import { describe, expect, test } from "vitest";
import { describeEnd, describeFailures, describeProgress, describeTimes } from "./report-text.ts";

describe("the report of a test run", () => {
  const state = {
    seconds: 70,
    lastSeconds: undefined,
    files: 9,
    filesDone: 2,
    tests: 31,
    failed: 1,
    running: [],
  };

  test("says where the run is, how long it took last time, and what runs longest", () => {
    expect(describeProgress(state)).toBe("=== 1m 10s: 2 of 9 files, 31 tests, 1 failed\n");
    const running = ["a", "b", "c", "d", "e"].map((name, index): [string, number] => [name, index]);
    expect(describeProgress({ ...state, lastSeconds: 640, running })).toBe(
      "=== 1m 10s (last time 10m 40s): 2 of 9 files, 31 tests, 1 failed; now e 4s, d 3s, c 2s, b 1s\n",
    );
  });

  test("says how long it will take at the pace of the files so far where no earlier run says it", () => {
    const paced = { ...state, files: 200, filesDone: 20 };
    expect(describeProgress(paced)).toContain("=== 1m 10s (at this pace 11m 40s): 20 of 200 files");
    expect(describeProgress({ ...paced, filesDone: 19 })).toContain("=== 1m 10s: 19 of 200 files");
    expect(describeProgress({ ...paced, lastSeconds: 640 })).toContain("(last time 10m 40s)");
  });

  test("ends with what came of it and what to do next", () => {
    expect(describeEnd({ seconds: 70, passed: 31, failed: 0 })).toMatch(/^\n=== 31 passed in 1m 10s\. .*\n$/);
    expect(describeEnd({ seconds: 70, passed: 30, failed: 1 })).toMatch(
      /^\n=== 30 passed, 1 failed in 1m 10s\. Run each alone by its command above; .*\n$/,
    );
  });

  test("sums a table", () => {
    expect(
      describeTimes("Time", [
        ["a", 61.25],
        ["b", 2],
      ]),
    ).toBe("\n=== Time (1m 03s)\n     61.3 s  a\n      2.0 s  b\n");
  });

  test("ends with each failure, its reason without the runner's own lines, and how to run it alone", () => {
    const failure = {
      title: "a.test.ts > holds",
      messages: ["expected 1 to be 2\n at node_modules/x"],
      command: "npx vitest run a.test.ts",
    };
    expect(describeFailures([failure], [{ message: "closed" }])).toBe(
      "\n=== 2 failed\nFAILED a.test.ts > holds\n  expected 1 to be 2\n  alone: npx vitest run a.test.ts\n\n" +
        "FAILED outside of a test\n  closed\n",
    );
    expect(describeFailures([], [])).toBe("");
  });
});

import { expect, test } from "vitest";
import { createRepeatedWarning } from "./repeated-warning.ts";

test("a sentence is logged at once, then once a minute, and another one at once", () => {
  const logged: string[] = [];
  let nowMs = 0;
  const warn = createRepeatedWarning({ warn: (text: string) => void logged.push(text) }, () => nowMs);
  for (let second = 0; second <= 120; second++) {
    nowMs = second * 1000;
    warn(second < 90 ? "first" : "second");
  }
  expect(logged).toEqual(["first", "first", "second"]);
});

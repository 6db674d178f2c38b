import { defineConfig } from "vitest/config";
import { LongestFirstSequencer } from "./e2e/checks/test-report/longest-first.ts";
import { inTurn } from "./e2e/faults/vitest.config.ts";
import { onStack } from "./vitest.config.ts";

/** The third circle: too long for the gate, run before a release and for a change of what they are about. */
export default defineConfig({
  test: {
    reporters: ["default", "./e2e/checks/test-report/vitest-reporter.ts"],
    maxWorkers: 4,
    isolate: false,
    sequence: { sequencer: LongestFirstSequencer },
    projects: [
      {
        test: {
          name: "extended",
          include: ["{apiserver,operator,e2e}/**/*.extended.test.ts"],
          exclude: ["e2e/faults/**"],
          ...onStack,
        },
      },
      {
        test: {
          name: "faults",
          include: ["e2e/faults/*.extended.test.ts"],
          sequence: { groupOrder: 1 },
          ...inTurn,
        },
      },
    ],
  },
});

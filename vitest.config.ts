import { defineConfig } from "vitest/config";
import { LongestFirstSequencer } from "./e2e/checks/test-report/longest-first.ts";
import { PATIENT } from "./shared/program/testing-deadlines.ts";

/** For a test or a hook that hangs: each wait has a deadline of its own, and on a slow machine with neighbours some tests take ten minutes. */
export const hangLimits = { testTimeout: 1_800_000, hookTimeout: 1_800_000 };

/** For tests on the local stack. */
export const onStack = {
  globalSetup: ["e2e/platform/stack/vitest-global-setup.ts"],
  setupFiles: ["e2e/contract/seen/vitest-setup.ts", "e2e/testing/vitest-setup.ts"],
  ...hangLimits,
  expect: { poll: { timeout: 200_000 } },
};

const LAST = "e2e/contract/seen/{responses,logs,messages,machines,policies,rights}.test.ts";

export default defineConfig({
  test: {
    reporters: ["default", "./e2e/checks/test-report/vitest-reporter.ts"],
    // Stories and integration tests wait for the stack most of their time: more workers than cores.
    maxWorkers: 4,
    // Modules are read once a worker, not once a file, which halves the unit tests. Helpers register hooks in functions.
    isolate: false,
    sequence: { sequencer: LongestFirstSequencer },
    projects: [
      {
        test: {
          name: "unit",
          // On a slow machine with neighbours some take half a minute.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          expect: { poll: PATIENT },
          include: ["{apiserver,operator,shared,e2e}/**/*.test.ts"],
          exclude: [
            "**/*.{int,long,extended}.test.ts",
            "e2e/{stories,faults,install,contract/ceph}/**",
            LAST,
            "node_modules/**",
          ],
        },
      },
      {
        test: { name: "integration", include: ["{apiserver,operator,shared}/**/*.int.test.ts"], ...onStack },
      },
      {
        test: {
          name: "stories",
          include: ["e2e/stories/**/*.test.ts"],
          exclude: ["**/*.{long,extended}.test.ts"],
          ...onStack,
        },
      },
      // Integration tests and stories that take minutes, of processor time too: not part of `npm test`.
      {
        test: { name: "long", include: ["{apiserver,operator,shared,e2e}/**/*.long.test.ts"], ...onStack },
      },
      // After all others, for it looks at what they have seen.
      { test: { name: "seen", include: [LAST], sequence: { groupOrder: 1 }, ...onStack } },
    ],
  },
});

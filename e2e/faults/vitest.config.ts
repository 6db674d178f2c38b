import { defineConfig } from "vitest/config";

/** Faults kill parts of the stack, so this suite has a separate stack and runs its files one after another. */
export default defineConfig({
  test: {
    reporters: ["default", "./e2e/checks/test-report/vitest-reporter.ts"],
    include: ["e2e/faults/*.test.ts"],
    // Of what hangs: each wait has a deadline of its own.
    testTimeout: 1_800_000,
    hookTimeout: 1_800_000,
    fileParallelism: false,
  },
});

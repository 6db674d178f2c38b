import { defineConfig } from "vitest/config";

/** Tests that take minutes: a kill after every write, and the deadlines of silent connections. Not part of the gate. */
export default defineConfig({
  test: {
    reporters: ["default", "./e2e/checks/test-report/vitest-reporter.ts"],
    include: ["e2e/faults/long/*.test.ts"],
    testTimeout: 7_200_000,
    hookTimeout: 900_000,
    fileParallelism: false,
  },
});

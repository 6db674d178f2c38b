import { defineConfig } from "vitest/config";

/** The shared storage on a real Ceph, with a separate stack. */
export default defineConfig({
  test: {
    reporters: ["default", "./e2e/checks/test-report/vitest-reporter.ts"],
    include: ["e2e/contract/ceph/*.test.ts"],
    testTimeout: 600_000,
    hookTimeout: 900_000,
    fileParallelism: false,
  },
});

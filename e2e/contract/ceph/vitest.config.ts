import { defineConfig } from "vitest/config";
import { hangLimits } from "../../../vitest.config.ts";

/** The shared storage on a real Ceph, with a separate stack. */
export default defineConfig({
  test: {
    reporters: ["default", "./e2e/checks/test-report/vitest-reporter.ts"],
    include: ["e2e/contract/ceph/*.test.ts"],
    ...hangLimits,
    fileParallelism: false,
  },
});

import { defineConfig } from "vitest/config";

/** Stories that need real tenant clusters, and the faults of the provider that makes them. */
export default defineConfig({
  test: {
    include: ["e2e/local/*.test.ts"],
    globalSetup: ["e2e/local/vitest-global-setup.ts"],
    testTimeout: 300_000,
    hookTimeout: 180_000,
    fileParallelism: false,
  },
});

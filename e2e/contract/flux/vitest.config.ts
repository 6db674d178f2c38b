import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** The real controllers of Flux against the local stack: `npm run test:flux`. Their first build takes some minutes. */
export default defineConfig({
  root: join(import.meta.dirname, "..", "..", ".."),
  test: {
    reporters: ["default", "./e2e/checks/test-report/vitest-reporter.ts"],
    globalSetup: ["e2e/platform/stack/vitest-global-setup.ts"],
    include: ["e2e/contract/flux/story.ts"],
    testTimeout: 900_000,
    hookTimeout: 2_400_000,
  },
});

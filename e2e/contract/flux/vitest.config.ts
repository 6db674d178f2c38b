import { join } from "node:path";
import { defineConfig } from "vitest/config";

const deadlines = { testTimeout: 900_000, hookTimeout: 2_400_000 };

/** The real controllers of Flux against local stacks: `npm run test:flux`. Their first build takes some minutes. */
export default defineConfig({
  root: join(import.meta.dirname, "..", "..", ".."),
  test: {
    reporters: ["default", "./e2e/checks/test-report/vitest-reporter.ts"],
    projects: [
      {
        test: {
          name: "clusters",
          globalSetup: ["e2e/platform/stack/vitest-global-setup.ts"],
          include: ["e2e/contract/flux/story.ts"],
          ...deadlines,
        },
      },
      // It installs Marina into a stack of its own, where Pods are processes (Linux, root).
      {
        test: {
          name: "release",
          include: ["e2e/contract/flux/release.ts"],
          sequence: { groupOrder: 1 },
          ...deadlines,
        },
      },
    ],
  },
});

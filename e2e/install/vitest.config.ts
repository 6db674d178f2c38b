import { defineConfig } from "vitest/config";
import { hangLimits } from "../../vitest.config.ts";

const onRelease = {
  globalSetup: ["e2e/install/vitest-global-setup.ts"],
  ...hangLimits,
};

/** Installations of the chart, whose Pods run as processes (e2e/platform/node-agent): Linux and root are needed. */
export default defineConfig({
  test: {
    reporters: ["default", "./e2e/checks/test-report/vitest-reporter.ts"],
    maxWorkers: 3,
    projects: [
      // The stories of tenants, engineers and pipelines as they are, on an installed release.
      {
        test: {
          name: "stories",
          include: ["e2e/stories/{tenant,platform-engineer,gitops}.test.ts"],
          ...onRelease,
        },
      },
      {
        test: {
          name: "release",
          include: ["e2e/install/release.test.ts"],
          sequence: { groupOrder: 1 },
          ...onRelease,
        },
      },
      // It installs by the commands of the documentation.
      {
        test: {
          name: "walk",
          include: ["e2e/install/walk.test.ts"],
          sequence: { groupOrder: 4 },
          ...hangLimits,
        },
      },
      // It has a database in every state.
      {
        test: {
          name: "migration",
          include: ["e2e/install/migration.test.ts"],
          sequence: { groupOrder: 3 },
          ...hangLimits,
        },
      },
      // It restarts parts of its stack.
      {
        test: {
          name: "faults",
          include: ["e2e/install/faults.test.ts"],
          sequence: { groupOrder: 2 },
          ...hangLimits,
        },
      },
    ],
  },
});

import { basename } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { hangLimits } from "../../vitest.config.ts";

/** On one stack (shared-stack.ts), in this order: what burdens it comes last. */
const SHARED = ["webhooks", "attachments", "audit-events", "feed", "api", "slow-tenants"];
/** As these, on one with Cluster API's managers. */
const WHOLE = ["tenant", "faults"];
/** On one bare stack (bare-stack.ts), in this order: the last one takes it apart. */
const BARE = ["manual-changes", "bare"];
const TOGETHER = [...SHARED, ...WHOLE, ...BARE];
const ORDER = TOGETHER.map((name) => `${name}.test.ts`);

const filesOf = (names: readonly string[]) => names.map((name) => `e2e/faults/${name}.test.ts`);

class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => ORDER.indexOf(basename(moduleId));
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

/** For files that each have a stack of their own. */
export const inTurn = { ...hangLimits, fileParallelism: false, maxWorkers: 1 };
/** One worker for all files, which has their stack. */
const together = { ...inTurn, isolate: false };

/** Faults kill parts of the stack, so this suite has separate stacks and runs its files one after another. */
export default defineConfig({
  test: {
    reporters: ["default", "./e2e/checks/test-report/vitest-reporter.ts"],
    fileParallelism: false,
    sequence: { sequencer: InOrder },
    projects: [
      { test: { name: "shared", include: filesOf(SHARED), ...together } },
      { test: { name: "whole", include: filesOf(WHOLE), sequence: { groupOrder: 1 }, ...together } },
      { test: { name: "bare", include: filesOf(BARE), sequence: { groupOrder: 2 }, ...together } },
      {
        test: {
          name: "separate",
          include: ["e2e/faults/*.test.ts"],
          exclude: [...filesOf(TOGETHER), "**/*.extended.test.ts"],
          ...inTurn,
        },
      },
    ],
  },
});

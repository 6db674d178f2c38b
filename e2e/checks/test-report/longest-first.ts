import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Small files that take long. Without the record of an earlier run, larger files begin before smaller ones. */
const LONG: readonly string[] = [
  "shipped-classes.extended.test.ts",
  "new-slice.extended.test.ts",
  "deleted-whole.extended.test.ts",
  "providers.extended.test.ts",
  "scan.extended.test.ts",
  "nodes.long.test.ts",
  "pool-status.extended.test.ts",
  "cost.long.test.ts",
  "chart.test.ts",
  "chart-roles.test.ts",
  "quotas.test.ts",
  "upgrade.long.test.ts",
  "security-ended-rights.int.test.ts",
  "lint.test.ts",
];

/** Begins the longest files of each project first, so that a run does not end with one of them beside idle workers. */
export class LongestFirstSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) => {
      const own = sorted.filter((file) => file.project === project);
      return [...own.filter(isLong), ...own.filter((file) => !isLong(file))];
    });
  }
}

function isLong({ moduleId }: TestSpecification): boolean {
  return LONG.includes(basename(moduleId));
}

import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { setUpStack } from "../stack/vitest-global-setup.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "local");

/** One stack of real tenant clusters for all stories of this folder. */
export default (project: TestProject): Promise<() => Promise<void>> =>
  setUpStack(project, { dir: DIR, engine: "local" });

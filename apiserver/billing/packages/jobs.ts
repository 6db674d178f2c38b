import type { Deps } from "../../deps.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import { publishPackages } from "./publish.ts";

const EVERY_MS = 60_000;

/** Keeps the published packages equal to those in Postgres. */
export function packageJobs(deps: Deps): PeriodicJob[] {
  return [{ name: "packages", everyMs: EVERY_MS, run: (signal) => publishPackages(deps, { signal }) }];
}

import type { Deps } from "../deps.ts";
import type { PeriodicJob } from "../jobs/periodic.ts";
import { assignPositions } from "./store.ts";

const EVERY_MS = 30_000;

/** Assigns positions also when there is no reader, so that the next reader has little to do. */
export function auditJobs(deps: Pick<Deps, "db">): PeriodicJob[] {
  return [{ name: "audit-positions", everyMs: EVERY_MS, run: () => assignPositions(deps.db) }];
}

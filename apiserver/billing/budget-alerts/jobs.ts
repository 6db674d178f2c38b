import type { Deps } from "../../deps.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import { sendAlerts } from "./send-alerts.ts";

const EVERY_MS = 60_000;

/** Compares the spend of organizations with their budgets. */
export function budgetJobs(deps: Deps): PeriodicJob[] {
  return [{ name: "budget-alerts", everyMs: EVERY_MS, run: (signal) => sendAlerts(deps, signal) }];
}

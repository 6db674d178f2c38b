import { auditJobs } from "./audit/jobs.ts";
import { clusterAccessJobs } from "./cluster-accesses/index.ts";
import { clusterJobs } from "./clusters/index.ts";
import { writeIntentJobs } from "./custom-resources/index.ts";
import type { Deps } from "./deps.ts";
import { purgeIdempotencyKeys } from "./http/idempotency/store.ts";
import { type PeriodicJob, runPeriodically } from "./jobs/periodic.ts";
import { organizationJobs } from "./organizations/index.ts";
import { projectionJobs } from "./projection/jobs.ts";
import { startProjector } from "./projection/projector.ts";
import { startHarvester, systemEventJobs } from "./system-events/index.ts";

const HOUR_MS = 3_600_000;

/** Starts the loops that this process has by its roles. Resolves when all have ended after `signal`. */
export async function startBackground(deps: Deps, signal: AbortSignal): Promise<void> {
  const { sql, log } = deps;
  const loops: Promise<void>[] = [];
  if (deps.config.roles.includes("projector")) {
    const jobs = [
      ...auditJobs(deps),
      ...organizationJobs(deps),
      ...clusterJobs(deps),
      ...clusterAccessJobs(deps),
      ...writeIntentJobs(deps),
      ...projectionJobs(deps),
      ...systemEventJobs(deps),
      purgeJob(deps),
    ];
    loops.push(runPeriodically({ sql, log, signal }, jobs), startProjector(deps, signal).stopped);
  }
  if (deps.config.systemEvents.isEnabled && deps.config.roles.includes("harvester"))
    loops.push(startHarvester(deps, signal).stopped);
  await Promise.all(loops);
}

function purgeJob(deps: Deps): PeriodicJob {
  return {
    name: "purge-idempotency-keys",
    everyMs: HOUR_MS,
    async run() {
      await purgeIdempotencyKeys(deps.db);
    },
  };
}

import type { Deps } from "../deps.ts";
import type { PeriodicJob } from "../work/periodic.ts";
import { purgeDeletionRequests } from "./deleters/store.ts";
import { recordDueDeletions } from "./record.ts";
import { recordRefusedRequests } from "./staff-requests.ts";
import { addAuditPartitions, assignPositions, dropOldAuditPartitions } from "./store.ts";

const POSITIONS_EVERY_MS = 30_000;
const DELETIONS_EVERY_MS = 5000;
const PURGE_EVERY_MS = 60 * 60_000;
const REFUSED_EVERY_MS = 10 * 60_000;
const PARTITIONS_EVERY_MS = 6 * 60 * 60_000;

/**
 * Assigns positions also when there is no reader, so that the next reader has little to do; writes the entries of
 * deletions that waited for a name; records what was refused repeatedly; adds and drops partitions.
 */
export function auditJobs(deps: Pick<Deps, "config" | "db" | "log" | "now">): PeriodicJob[] {
  return [
    { name: "audit-positions", everyMs: POSITIONS_EVERY_MS, run: () => assignPositions(deps.db) },
    {
      name: "awaited-deletions",
      everyMs: DELETIONS_EVERY_MS,
      run: () => recordDueDeletions(deps.db, deps.now()),
    },
    {
      name: "deletion-requests",
      everyMs: PURGE_EVERY_MS,
      run: () => purgeDeletionRequests(deps.db, deps.now()),
    },
    { name: "refused-requests", everyMs: REFUSED_EVERY_MS, run: () => recordRefusedRequests(deps) },
    { name: "audit-partitions", everyMs: PARTITIONS_EVERY_MS, run: () => maintainPartitions(deps) },
  ];
}

async function maintainPartitions(deps: Pick<Deps, "config" | "db" | "log" | "now">): Promise<void> {
  await addAuditPartitions(deps.db, deps.now());
  const dropped = await dropOldAuditPartitions(deps.db, deps.config.auditRetentionDays);
  if (dropped.length > 0) deps.log.info({ months: dropped }, "old audit entries were dropped");
}

import type { Deps } from "../../deps.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import { followRegistry, followSharedStorage, type ListStoredImages } from "./figures.ts";
import { createLedgerMetrics } from "./metrics.ts";
import { purgeNotes } from "./purge-store.ts";
import { runRound } from "./round.ts";

const ROUND_MS = 10_000;
const FIGURES_MS = 60_000;
const PURGE_MS = 3_600_000;

/**
 * Write the ledger of usage: what was projected of clusters and node pools, and the figures of the shared storage and the
 * registry; and remove old notes.
 */
export function usageJobs(deps: Deps, listStoredImages: ListStoredImages): PeriodicJob[] {
  const ledgerDeps = { ...deps, ledgerMetrics: createLedgerMetrics(deps.metrics) };
  return [
    { name: "usage-ledger", everyMs: ROUND_MS, run: (signal) => runRound(ledgerDeps, signal) },
    { name: "usage-figures", everyMs: FIGURES_MS, run: (signal) => followSharedStorage(ledgerDeps, signal) },
    { name: "usage-registry", everyMs: FIGURES_MS, run: () => followRegistry(ledgerDeps, listStoredImages) },
    { name: "usage-purge", everyMs: PURGE_MS, run: () => purgeNotes(deps.db) },
  ];
}

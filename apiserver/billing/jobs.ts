import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import { collectErrors, type PeriodicJob, throwFirst } from "../work/periodic.ts";
import { sendAlerts } from "./budget-alerts/send-alerts.ts";
import { closeMonth, closeOrganizationOrLog } from "./invoices/close.ts";
import { finishClose, listOpenCloses, listWaiting, requestFirstClose } from "./invoices/close-store.ts";
import { closesAt, monthBefore, monthOf, monthOfPeriod, periodOf } from "./month.ts";
import { publishPackages } from "./packages/changes.ts";
import { followRegistry, followSharedStorage, type ListStoredImages } from "./usage/figures.ts";
import { purgeNotes, readSeenAt } from "./usage/ledger-store.ts";
import { createLedgerMetrics } from "./usage/metrics.ts";
import { runRound } from "./usage/round.ts";
import { endUnpublished, followUnrecorded } from "./usage/unrecorded.ts";

const CLOSES_EVERY_MS = 30_000;
const USAGE_WITHIN_MS = 86_400_000;
const WAITING_EVERY_MS = 600_000;
const WAITING_PER_PAGE = 100;
const ALERTS_EVERY_MS = 60_000;
const PACKAGES_EVERY_MS = 60_000;
const USAGE_EVERY_MS = 10_000;
const FIGURES_EVERY_MS = 60_000;
const PURGE_EVERY_MS = 3_600_000;

/** Closes months that have ended or that the staff asks for, and issues invoices for which nothing is missing any more. */
export function invoiceJobs(deps: Deps): PeriodicJob[] {
  return [
    { name: "month-closes", everyMs: CLOSES_EVERY_MS, run: (signal) => runCloses(deps, signal) },
    { name: "waiting-invoices", everyMs: WAITING_EVERY_MS, run: (signal) => issueWaiting(deps, signal) },
  ];
}

/**
 * Runs every close that was asked for and is not finished; one that fails keeps no other one from running. The calendar asks
 * for that of the last month once its usage is in the ledger, at most a day late: what keeps one object out of it holds up no
 * invoice for longer.
 */
export async function runCloses(deps: Deps, signal: AbortSignal): Promise<void> {
  const now = deps.now();
  const last = monthBefore(monthOf(now));
  const isLate = now.getTime() >= closesAt(last).getTime() + USAGE_WITHIN_MS;
  if (now >= closesAt(last) && (isLate || (await isSeenUntil(deps.db, last.end))))
    await requestFirstClose(deps.db, periodOf(last), now);
  const errors = await collectErrors(await listOpenCloses(deps.db), signal, async (close) => {
    await closeMonth(deps, monthOfPeriod(close.period), signal);
    if (!signal.aborted) await finishClose(deps.db, close, deps.now());
  });
  throwFirst(errors);
}

async function isSeenUntil(db: Queryable, time: Date): Promise<boolean> {
  const seenAt = await readSeenAt(db);
  return seenAt !== undefined && seenAt >= time;
}

/** Issues the invoices that waited and for which nothing is missing any more. What fails is tried again in the next run. */
export async function issueWaiting(deps: Deps, signal: AbortSignal): Promise<void> {
  let cursor: string | undefined;
  do {
    const found = await listWaiting(deps.db, { cursor, limit: WAITING_PER_PAGE });
    for (const { orgId, period } of found.slice(0, WAITING_PER_PAGE)) {
      if (signal.aborted) return;
      await closeOrganizationOrLog(deps, orgId, monthOfPeriod(period));
    }
    cursor = found.length > WAITING_PER_PAGE ? found[WAITING_PER_PAGE - 1]?.id : undefined;
  } while (cursor !== undefined);
}

/** Compares the spend of organizations with their budgets. */
export function budgetJobs(deps: Deps): PeriodicJob[] {
  return [{ name: "budget-alerts", everyMs: ALERTS_EVERY_MS, run: (signal) => sendAlerts(deps, signal) }];
}

/** Keeps the published packages equal to those in Postgres. */
export function packageJobs(deps: Deps): PeriodicJob[] {
  return [
    { name: "packages", everyMs: PACKAGES_EVERY_MS, run: (signal) => publishPackages(deps, { signal }) },
  ];
}

/**
 * Write the ledger of usage: what was projected of clusters and node pools, the figures of the shared storage and the registry,
 * and what runs in no record; and remove old notes.
 */
export function usageJobs(deps: Deps, listStoredImages: ListStoredImages): PeriodicJob[] {
  const ledgerDeps = { ...deps, ledgerMetrics: createLedgerMetrics(deps.metrics) };
  return [
    { name: "usage-ledger", everyMs: USAGE_EVERY_MS, run: (signal) => runRound(ledgerDeps, signal) },
    {
      name: "usage-figures",
      everyMs: FIGURES_EVERY_MS,
      run: (signal) => followSharedStorage(ledgerDeps, signal),
    },
    {
      name: "usage-registry",
      everyMs: FIGURES_EVERY_MS,
      run: () => followRegistry(ledgerDeps, listStoredImages),
    },
    { name: "usage-unrecorded", everyMs: USAGE_EVERY_MS, run: () => followUnrecorded(ledgerDeps) },
    { name: "usage-forgotten", everyMs: PURGE_EVERY_MS, run: () => endUnpublished(ledgerDeps) },
    { name: "usage-purge", everyMs: PURGE_EVERY_MS, run: () => purgeNotes(deps.db) },
  ];
}

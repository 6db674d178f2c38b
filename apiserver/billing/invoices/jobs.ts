import type { Deps } from "../../deps.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import { closesAt, monthBefore, monthOf, monthOfPeriod, periodOf } from "../month.ts";
import { closeMonth, closeOrganizationOrLog } from "./close.ts";
import { finishClose, listOpenCloses, listWaiting, requestFirstClose } from "./close-store.ts";

const EVERY_MS = 30_000;
const WAITING_EVERY_MS = 600_000;
const WAITING_PER_PAGE = 100;

/** Closes months that have ended or that the staff asks for, and issues invoices for which nothing is missing any more. */
export function invoiceJobs(deps: Deps): PeriodicJob[] {
  return [
    { name: "month-closes", everyMs: EVERY_MS, run: (signal) => runCloses(deps, signal) },
    { name: "waiting-invoices", everyMs: WAITING_EVERY_MS, run: (signal) => issueWaiting(deps, signal) },
  ];
}

/** Runs every close that was asked for and is not finished. */
export async function runCloses(deps: Deps, signal: AbortSignal): Promise<void> {
  const now = deps.now();
  const last = monthBefore(monthOf(now));
  if (now >= closesAt(last)) await requestFirstClose(deps.db, periodOf(last), now);
  for (const close of await listOpenCloses(deps.db)) {
    await closeMonth(deps, monthOfPeriod(close.period), signal);
    if (signal.aborted) return;
    await finishClose(deps.db, close, deps.now());
  }
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

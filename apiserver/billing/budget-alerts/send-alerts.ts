import { NIL_ID } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { emitWebhookEvents, type NewWebhookEvent, newEvent } from "../../events/emit.ts";
import type { Budget } from "../budgets/store.ts";
import type { budgetAlerts } from "../budgets/table.ts";
import { usageAlert } from "../event-schema.ts";
import { centsToEuros, toEuros } from "../money.ts";
import { type Month, monthOf } from "../month.ts";
import { readPriceHistory } from "../rating/read.ts";
import { readUsageIntervals } from "../usage/ledger-store.ts";
import { type Alerts, findAlerts, findWatchedMonths } from "./alerts.ts";
import { insertFired, listDueBudgets, listFired, lockDueBudgets, scheduleChecks } from "./store.ts";

/** Organizations in one transaction. */
const BATCH_SIZE = 200;
/**
 * What several organizations may have in one transaction: tenants choose how much usage and how many thresholds they
 * have.
 */
const MAX_INTERVALS = 50_000;
const MAX_ALERTS = 1_000;

type AlertDeps = Pick<Deps, "db" | "now" | "log">;

/**
 * Compares the spend of every organization whose budget is due when the round starts, and sends `usage.alert` for what
 * was reached. What falls due meanwhile waits for the next round, so that no tenant can keep one going.
 */
export async function sendAlerts(deps: AlertDeps, signal: AbortSignal): Promise<void> {
  const startedAt = deps.now();
  let cursor: string | undefined = NIL_ID;
  while (cursor !== undefined && !signal.aborted) {
    const orgIds: string[] = await listDueBudgets(deps.db, startedAt, { cursor, limit: BATCH_SIZE });
    if (orgIds.length > 0) await sendAlertsOrLog(deps, orgIds, signal);
    cursor = orgIds.length === BATCH_SIZE ? orgIds.at(-1) : undefined;
  }
}

/** When a batch fails, its halves are tried, down to one organization: none keeps another one from its alerts. */
async function sendAlertsOrLog(
  deps: AlertDeps,
  orgIds: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  try {
    await sendAlertsOf(deps, orgIds);
  } catch (error) {
    if (orgIds.length === 1) {
      deps.log.error({ orgId: orgIds[0], err: error }, "the budget of an organization could not be compared");
      return;
    }
    const middle = Math.ceil(orgIds.length / 2);
    for (const half of [orgIds.slice(0, middle), orgIds.slice(middle)])
      if (!signal.aborted) await sendAlertsOrLog(deps, half, signal);
  }
}

/**
 * Compares the spend of these organizations. Each threshold fires once in a month, in the transaction of its event, so
 * that neither a second replica nor a death in between sends it twice or not at all.
 */
async function sendAlertsOf({ db, now: clock }: AlertDeps, orgIds: readonly string[]): Promise<void> {
  await db.transaction(async (tx) => {
    const now = clock();
    const budgets = await lockDueBudgets(tx, orgIds, now);
    if (budgets.length === 0) return;
    const comparisons: BudgetComparison[] = [];
    for (const month of findWatchedMonths(now))
      comparisons.push(...(await compareMonth(tx, budgets, month, now)));
    const fired = comparisons.flatMap((comparison) => toFired(comparison, now));
    requireBatch(budgets, fired.length <= MAX_ALERTS);
    await insertFired(tx, fired);
    await scheduleChecks(tx, findNextChecks(comparisons, monthOf(now).end));
    const events = comparisons.flatMap((comparison) => toEvents(comparison, now));
    await emitWebhookEvents(tx, events);
  });
}

async function compareMonth(
  tx: Queryable,
  budgets: readonly Budget[],
  month: Month,
  now: Date,
): Promise<BudgetComparison[]> {
  const orgIds = budgets.map(({ orgId }) => orgId);
  const limit = budgets.length > 1 ? MAX_INTERVALS + 1 : undefined;
  const usage = await readUsageIntervals(tx, orgIds, { from: month.start, to: month.end, limit });
  requireBatch(budgets, usage.length <= MAX_INTERVALS);
  const usageByOrg = Map.groupBy(usage, ({ organizationId }) => organizationId);
  const history = await readPriceHistory(tx, month.end);
  const firedByOrg = await listFired(tx, orgIds, month.name);
  return budgets.map((budget) => {
    const source = { month, intervals: usageByOrg.get(budget.orgId) ?? [], history };
    const fired = firedByOrg.get(budget.orgId) ?? new Set();
    return { budget, month: month.name, ...findAlerts(source, budget, fired, now) };
  });
}

/** Throws for several organizations that are too much for one transaction. */
function requireBatch(budgets: readonly Budget[], fits: boolean): void {
  if (budgets.length > 1 && !fits) throw new RangeError("the budgets are too much for one transaction");
}

/** The spend of an organization in a month, compared with its budget. */
interface BudgetComparison extends Alerts {
  budget: Budget;
  /** `YYYY-MM`. */
  month: string;
}

/** The rows of the thresholds that were reached. */
function toFired(
  { budget: { orgId }, month, reachedPct, spendCents }: BudgetComparison,
  firedAt: Date,
): (typeof budgetAlerts.$inferInsert)[] {
  return reachedPct.map((thresholdPct) => ({ orgId, month, thresholdPct, spendCents, firedAt }));
}

/** The events of the thresholds that were reached. */
function toEvents(
  { budget, month, reachedPct, spendCents }: BudgetComparison,
  occurredAt: Date,
): NewWebhookEvent[] {
  const figures = {
    budget_eur: toEuros(budget.limitMicroEuros),
    spend_eur: centsToEuros(spendCents),
    billing_month: month,
  };
  return reachedPct.map((pct) =>
    newEvent(usageAlert, { orgId: budget.orgId, occurredAt, data: { ...figures, threshold_pct: pct } }),
  );
}

/**
 * When each organization is to be compared next: at its first crossing in any of the months, at `latest` at the latest.
 */
function findNextChecks(
  comparisons: readonly BudgetComparison[],
  latest: Date,
): { orgId: string; nextAt: Date }[] {
  const byOrg = Map.groupBy(comparisons, ({ budget }) => budget.orgId);
  return [...byOrg].map(([orgId, own]) => {
    const times = own.map(({ nextAt = latest }) => nextAt.getTime());
    return { orgId, nextAt: new Date(Math.min(...times, latest.getTime())) };
  });
}

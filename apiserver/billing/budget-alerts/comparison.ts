import { type NewEvent, newEvent } from "../../events/emit.ts";
import type { Budget } from "../budgets/store.ts";
import type { budgetAlerts } from "../budgets/table.ts";
import { usageAlert } from "../event-schema.ts";
import { centsToEuros, toEuros } from "../money.ts";
import type { Alerts } from "./alerts.ts";

/** The spend of an organization in a month, compared with its budget. */
export interface BudgetComparison extends Alerts {
  budget: Budget;
  /** `YYYY-MM`. */
  month: string;
}

/** The rows of the thresholds that were reached. */
export function toFired(
  { budget: { orgId }, month, reachedPct, spendCents }: BudgetComparison,
  firedAt: Date,
): (typeof budgetAlerts.$inferInsert)[] {
  return reachedPct.map((thresholdPct) => ({ orgId, month, thresholdPct, spendCents, firedAt }));
}

/** The events of the thresholds that were reached. */
export function toEvents(
  { budget, month, reachedPct, spendCents }: BudgetComparison,
  occurredAt: Date,
): NewEvent[] {
  const figures = {
    budget_eur: toEuros(budget.limitMicroEuros),
    spend_eur: centsToEuros(spendCents),
    billing_month: month,
  };
  return reachedPct.map((pct) =>
    newEvent(usageAlert, { orgId: budget.orgId, occurredAt, data: { ...figures, threshold_pct: pct } }),
  );
}

/** When each organization is to be compared next: at its first crossing in any of the months, at `latest` at the latest. */
export function findNextChecks(
  comparisons: readonly BudgetComparison[],
  latest: Date,
): { orgId: string; nextAt: Date }[] {
  const byOrg = Map.groupBy(comparisons, ({ budget }) => budget.orgId);
  return [...byOrg].map(([orgId, own]) => {
    const times = own.map(({ nextAt = latest }) => nextAt.getTime());
    return { orgId, nextAt: new Date(Math.min(...times, latest.getTime())) };
  });
}

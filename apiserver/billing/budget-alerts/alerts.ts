import type { BudgetSettings } from "../budgets/store.ts";
import { MICRO_EUROS_PER_CENT } from "../money.ts";
import { closesAt, type Month, monthBefore, monthOf } from "../month.ts";
import { findCrossing } from "../rating/crossing.ts";
import { rateLines, sumCents } from "../rating/lines.ts";
import type { RatingSource } from "../rating/read.ts";

/** Thresholds that a month has reached and that no alert was sent for yet, and when the next one will be reached. */
export interface Alerts {
  /** Strictly ascending. */
  reachedPct: number[];
  spendCents: bigint;
  /** Undefined: none in this month, as far as is known. */
  nextAt: Date | undefined;
}

/** The months whose spend can still change, the earlier first. */
export function findWatchedMonths(now: Date): Month[] {
  const month = monthOf(now);
  const before = monthBefore(month);
  return now < closesAt(before) ? [before, month] : [month];
}

/** Compares the spend of a month, the sum of its rounded lines, with the thresholds that have not fired in it. */
export function findAlerts(
  source: RatingSource,
  { limitMicroEuros, thresholdsPct }: BudgetSettings,
  fired: ReadonlySet<number>,
  now: Date,
): Alerts {
  const spendCents = sumCents(rateLines({ ...source, until: now }));
  const waiting = thresholdsPct.filter((pct) => !fired.has(pct));
  const [next] = waiting.filter((pct) => toLimitCents(limitMicroEuros, pct) > spendCents);
  return {
    reachedPct: waiting.filter((pct) => toLimitCents(limitMicroEuros, pct) <= spendCents),
    spendCents,
    nextAt: next === undefined ? undefined : findCrossing(source, now, toLimitCents(limitMicroEuros, next)),
  };
}

/** The least number of whole cents that is at least this part of the limit. */
function toLimitCents(limitMicroEuros: bigint, pct: number): bigint {
  const perCent = 100n * MICRO_EUROS_PER_CENT;
  return (limitMicroEuros * BigInt(pct) + perCent - 1n) / perCent;
}

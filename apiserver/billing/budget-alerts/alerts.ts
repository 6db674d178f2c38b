import type { BudgetSettings } from "../budgets/store.ts";
import { MICRO_EUROS_PER_CENT, priceInCents } from "../money.ts";
import { closesAt, type Month, monthBefore, monthOf } from "../month.ts";
import type { Rating } from "../rating/charges.ts";
import { toDate, toTimeline } from "../rating/histories.ts";
import { type RatedLine, rateLines, sumCents, toUse } from "../rating/lines.ts";
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

/**
 * The first whole second, not before `since`, at which the spend to date reaches `limitCents`, if nothing changes that
 * is not yet known; undefined when that is not in the month. The month's last instant counts as its end.
 */
export function findCrossing(
  rating: Omit<Rating, "until">,
  since: Date,
  limitCents: bigint,
): Date | undefined {
  const { month } = rating;
  const first = Math.max(Math.floor(since.getTime() / 1000), month.start.getTime() / 1000);
  const last = month.end.getTime() / 1000;
  const spendAt = createProjection(rating, first);
  if (spendAt(last) < limitCents) return undefined;
  let [low, high] = [first, last];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (spendAt(middle) >= limitCents) high = middle;
    else low = middle + 1;
  }
  return toDate(low);
}

/** Spend to date in cents by the second, from `first` on. */
function createProjection(rating: Omit<Rating, "until">, first: number): (second: number) => bigint {
  const { month } = rating;
  const last = month.end.getTime() / 1000;
  const steady = Math.min(last, Math.max(first, lastChange(rating)) + 1);
  const lines = rateLines({ ...rating, until: toDate(steady) });
  return (second) =>
    second < steady
      ? sumCents(rateLines({ ...rating, until: toDate(second) }))
      : sumGrown(lines, BigInt(second - steady), month.seconds);
}

/** The last second at which anything changes that is known. */
function lastChange({ month, intervals, history }: Omit<Rating, "until">): number {
  const end = month.end.getTime() / 1000;
  let last = toTimeline(history).cuts.findLast((cut) => cut < end) ?? 0;
  for (const { startedAt, endedAt } of intervals)
    for (const instant of [startedAt, endedAt]) {
      const second = (instant?.getTime() ?? 0) / 1000;
      if (second < end && second > last) last = second;
    }
  return last;
}

function sumGrown(lines: readonly RatedLine[], seconds: bigint, monthSeconds: number): bigint {
  return lines.reduce((total, line) => {
    const unitSeconds = line.unitSeconds + line.runningQuantity * seconds;
    return total + priceInCents(toUse({ ...line, unitSeconds }), monthSeconds);
  }, 0n);
}

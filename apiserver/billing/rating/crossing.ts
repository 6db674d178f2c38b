import { priceInCents } from "../money.ts";
import type { Rating } from "./charges.ts";
import { toDate, toTimeline } from "./histories.ts";
import { type RatedLine, rateLines, sumCents, toUse } from "./lines.ts";

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

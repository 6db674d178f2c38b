import { priceInCents } from "../money.ts";
import { dateOf } from "../month.ts";
import { findCharges } from "../rating/charges.ts";
import { groupByLine, toUse } from "../rating/lines.ts";
import type { RatingSource } from "../rating/read.ts";
import type { MeteredType } from "../usage/interval.ts";

/** What one day costs by resource type, in cents. */
export interface DailyCost {
  /** `YYYY-MM-DD`, in UTC. */
  date: string;
  cents: Partial<Record<MeteredType, number>>;
}

/**
 * What each day of a whole month costs, by resource type. The days of a type add up to exactly what its lines amount
 * to: a day gets what its line amounts to at the end of the day beyond what it did the day before, both rounded.
 */
export function findDailyCosts(source: RatingSource): DailyCost[] {
  const { month } = source;
  const costs = new Map<number, DailyCost>();
  for (let day = 1; day <= month.days; day++) costs.set(day, { date: dateOf(month, day), cents: {} });
  const charges = findCharges({ ...source, until: month.end }, { byDay: true });
  for (const line of groupByLine(charges)) {
    const [first] = line;
    const days = line.flatMap((charge) => charge.days);
    let [unitSeconds, amount] = [0n, 0n];
    for (const day of days.toSorted((a, b) => a.dayOfMonth - b.dayOfMonth)) {
      unitSeconds += day.unitSeconds;
      const reached = priceInCents({ ...toUse(first), unitSeconds }, month.seconds);
      const cost = costs.get(day.dayOfMonth);
      if (cost === undefined) throw new Error(`${month.name} has no day ${day.dayOfMonth}`);
      cost.cents[first.resourceType] = (cost.cents[first.resourceType] ?? 0) + Number(reached - amount);
      amount = reached;
    }
  }
  return [...costs.values()];
}

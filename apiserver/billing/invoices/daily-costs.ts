import { priceInCents } from "../money.ts";
import { findCharges } from "../rating/charges.ts";
import { toUse } from "../rating/lines.ts";
import type { RatingSource } from "../rating/read.ts";
import type { MeteredType } from "../usage/interval.ts";

/** What one day costs by resource type, in cents. */
export interface DailyCost {
  /** `YYYY-MM-DD`, in UTC. */
  date: string;
  cents: Partial<Record<MeteredType, number>>;
}

/**
 * What each day of a whole month costs, by resource type. The days of a type add up to exactly what its lines amount to:
 * a day gets what its line amounts to at the end of the day beyond what it did the day before, both rounded.
 */
export function findDailyCosts(source: RatingSource): DailyCost[] {
  const { month } = source;
  const costs = new Map<string, DailyCost["cents"]>();
  for (let at = month.start.getTime(); at < month.end.getTime(); at += MS_PER_DAY)
    costs.set(dateOf(new Date(at)), {});
  const charges = findCharges({ ...source, until: month.end }, { byDay: true });
  const lines = Map.groupBy(
    charges,
    ({ clusterId, resourceType, unitPriceMicroEuros: price }) => `${clusterId} ${resourceType} ${price}`,
  );
  for (const line of lines.values()) {
    let [unitSeconds, amount] = [0n, 0n];
    for (const charge of line.toSorted((a, b) => a.periodStart.getTime() - b.periodStart.getTime())) {
      unitSeconds += charge.unitSeconds;
      const reached = priceInCents({ ...toUse(charge), unitSeconds }, month.seconds);
      const day = costs.get(dateOf(charge.periodStart));
      if (day === undefined) throw new Error(`${month.name} has no day ${dateOf(charge.periodStart)}`);
      day[charge.resourceType] = (day[charge.resourceType] ?? 0) + Number(reached - amount);
      amount = reached;
    }
  }
  return [...costs].map(([date, cents]) => ({ date, cents }));
}

const MS_PER_DAY = 86_400_000;

function dateOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

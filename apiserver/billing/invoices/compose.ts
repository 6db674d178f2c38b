import type { Labels } from "../../../shared/crd/labels.ts";
import { formatMicroEuros, priceInCents } from "../money.ts";
import { dateOf, type Month, periodOf } from "../month.ts";
import { findCharges } from "../rating/charges.ts";
import { groupByLine, type RatedLine, rateLinesInSteps, sumCents, toUse } from "../rating/lines.ts";
import type { RatingSource } from "../rating/read.ts";
import type { MeteredType } from "../resource-types.ts";
import type { Steps } from "../turns.ts";

/** A line of an invoice. */
export interface InvoiceLine {
  /** The first day of the month that was used. */
  period: string;
  /** Whether it corrects an invoice of an earlier month. */
  adjustment: boolean;
  clusterId: string | null;
  clusterName: string | null;
  resourceType: MeteredType;
  unitPriceEUR: string;
  unitSeconds: bigint;
  amountCents: bigint;
  /**
   * The first and the last day of the month, `YYYY-MM-DD` in UTC, on which it was charged at this price; null: not
   * known.
   */
  firstDay: string | null;
  lastDay: string | null;
  /** Those of its cluster, and of the organization where that has no such key; null or undefined: not known. */
  labels?: Labels | null;
}

/** What was invoiced already for a month, in however many lines. */
export type InvoicedLine = Omit<
  InvoiceLine,
  "adjustment" | "clusterName" | "firstDay" | "lastDay" | "labels"
>;

/**
 * The lines of a month's invoice, in steps: those of the month itself, then what earlier months that have an invoice amount to
 * beyond what was invoiced for them. What would have to be taken back stays out while the total would fall below 0.
 */
export function* composeLines(
  source: RatingSource,
  earlier: readonly { source: RatingSource; invoiced: readonly InvoicedLine[] }[],
): Steps<InvoiceLine[]> {
  const rated = yield* rateWhole(source, { byDay: true });
  const own = rated.map((line) => toInvoiceLine(line, source.month, false));
  const differences: InvoiceLine[] = [];
  for (const one of earlier) differences.push(...(yield* findDifferences(one.source, one.invoiced)));
  const added = [...own, ...differences.filter(({ amountCents }) => amountCents >= 0n)];
  let total = sumCents(added);
  for (const line of differences.filter(({ amountCents }) => amountCents < 0n)) {
    if (total + line.amountCents < 0n) continue;
    total += line.amountCents;
    added.push(line);
  }
  return added;
}

/** How a month differs from what was invoiced for it, by cluster, resource type and unit price. */
function* findDifferences(source: RatingSource, invoiced: readonly InvoicedLine[]): Steps<InvoiceLine[]> {
  const billed = Map.groupBy(invoiced, keyOf);
  const rated = yield* rateWhole(source);
  const lines = rated.map((line) => toInvoiceLine(line, source.month, true));
  const known = new Set(lines.map(keyOf));
  const vanished = [...billed].flatMap(([key, [line]]) =>
    known.has(key) || line === undefined
      ? []
      : [{ ...line, ...NO_DAYS, clusterName: null, adjustment: true, unitSeconds: 0n, amountCents: 0n }],
  );
  return [...lines, ...vanished].flatMap((line) => {
    const before = billed.get(keyOf(line)) ?? [];
    const unitSeconds = before.reduce((rest, one) => rest - one.unitSeconds, line.unitSeconds);
    const amountCents = before.reduce((rest, one) => rest - one.amountCents, line.amountCents);
    return amountCents === 0n ? [] : [{ ...line, unitSeconds, amountCents }];
  });
}

const NO_DAYS = { firstDay: null, lastDay: null };

function rateWhole(source: RatingSource, options?: { byDay: boolean }): Steps<RatedLine[]> {
  return rateLinesInSteps({ ...source, until: source.month.end }, options);
}

function toInvoiceLine(line: RatedLine, month: Month, adjustment: boolean): InvoiceLine {
  const { clusterId, clusterName, resourceType, unitPriceMicroEuros, unitSeconds, amountCents } = line;
  return {
    period: periodOf(month),
    adjustment,
    clusterId,
    clusterName,
    resourceType,
    unitPriceEUR: formatMicroEuros(unitPriceMicroEuros),
    unitSeconds,
    amountCents,
    ...toDays(line, month),
  };
}

/** An address costs the whole month, whenever it was first seen. */
function toDays({ resourceType, days }: RatedLine, month: Month): Pick<InvoiceLine, "firstDay" | "lastDay"> {
  if (days === undefined || resourceType === "public_ip") return NO_DAYS;
  return { firstDay: dateOf(month, days.first), lastDay: dateOf(month, days.last) };
}

function keyOf({ clusterId, resourceType, unitPriceEUR }: InvoicedLine): string {
  return `${clusterId} ${resourceType} ${unitPriceEUR}`;
}

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

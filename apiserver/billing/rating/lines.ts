import { type PricedUse, priceInCents } from "../money.ts";
import type { Month } from "../month.ts";
import type { MeteredType } from "../resource-types.ts";
import { runAtOnce, type Steps } from "../turns.ts";
import { type Charge, findChargesInSteps, type Rating } from "./charges.ts";

/** A line of an invoice: everything of one cluster and resource type at one unit price. */
export interface RatedLine {
  clusterId: string | null;
  clusterName: string | null;
  resourceType: MeteredType;
  unitPriceMicroEuros: bigint;
  /** Quantity times seconds; bytes times seconds for storage_rwx and registry. */
  unitSeconds: bigint;
  amountCents: bigint;
  /** What grows by the second at the end of the time that was rated. */
  runningQuantity: bigint;
  /** The first and the last day of the month on which it was billed, from 1 on; where charges are split by day. */
  days?: { first: number; last: number };
}

const BYTES_PER_GIB = 1n << 30n;

/** How much of the quantity the price of a resource type is for. */
export function unitSizeOf(type: MeteredType): bigint {
  return type === "storage_rwx" || type === "registry" ? BYTES_PER_GIB : 1n;
}

/** What money.ts prices, of a charge or a line. */
export function toUse(
  charge: Pick<RatedLine, "resourceType" | "unitPriceMicroEuros" | "unitSeconds">,
): PricedUse {
  const { resourceType, unitPriceMicroEuros: priceMicroEuros, unitSeconds } = charge;
  return { priceMicroEuros, unitSeconds, unitSize: unitSizeOf(resourceType) };
}

/** The lines of an organization's month: the one place where amounts are rounded, once per line. */
export function rateLines(rating: Rating, options?: { byDay: boolean }): RatedLine[] {
  return runAtOnce(rateLinesInSteps(rating, options));
}

/** Like rateLines, in steps. */
export function* rateLinesInSteps(rating: Rating, options?: { byDay: boolean }): Steps<RatedLine[]> {
  return sumToLines(yield* findChargesInSteps(rating, options), rating.month);
}

/** The lines that charges of one month amount to, in the order of the charges. What is not billed makes no line. */
export function sumToLines(charges: readonly Charge[], month: Month): RatedLine[] {
  const billed = charges.filter(({ unitSeconds }) => unitSeconds !== 0n);
  return groupByLine(billed).map((own) => toLine(own, month));
}

/** The charges of each line: of one cluster and resource type at one unit price, in the order of the charges. */
export function groupByLine(charges: readonly Charge[]): [Charge, ...Charge[]][] {
  const lines = Map.groupBy(
    charges,
    ({ clusterId, resourceType, unitPriceMicroEuros: price }) => `${clusterId} ${resourceType} ${price}`,
  );
  return [...lines.values()] as [Charge, ...Charge[]][];
}

/** The sum of rounded lines, in cents. */
export function sumCents(lines: readonly Pick<RatedLine, "amountCents">[]): bigint {
  return lines.reduce((total, { amountCents }) => total + amountCents, 0n);
}

/** A label that charges are grouped by. */
export interface Grouping {
  key: string;
  /** Its value of what a charge is for; null: it has no such label. */
  labelOf: (charge: Pick<Charge, "clusterId" | "nodePoolId">) => string | null;
}

/**
 * What charges of one month amount to by the value of a label, in cents, in the order of values, null last. They add up
 * to exactly the lines: of each line, a value gets what that amounts to with the value's use beyond what it does without.
 */
export function sumByLabel(
  charges: readonly Charge[],
  { month, grouping: { labelOf } }: { month: Month; grouping: Grouping },
): Map<string | null, bigint> {
  const inOrder = Map.groupBy(charges, labelOf);
  const values = [...inOrder.keys()].toSorted((a, b) => (b === null || (a !== null && a < b) ? -1 : 1));
  const sums = new Map(values.map((value) => [value, 0n]));
  const ordered = values.flatMap((value) => inOrder.get(value) ?? []);
  for (const line of groupByLine(ordered)) {
    let [unitSeconds, amount] = [0n, 0n];
    for (const charge of line) {
      unitSeconds += charge.unitSeconds;
      const reached = priceInCents({ ...toUse(charge), unitSeconds }, month.seconds);
      const value = labelOf(charge);
      sums.set(value, (sums.get(value) ?? 0n) + reached - amount);
      amount = reached;
    }
  }
  return sums;
}

function toLine(charges: readonly [Charge, ...Charge[]], month: Month): RatedLine {
  const [{ clusterId, clusterName, resourceType, unitPriceMicroEuros }] = charges;
  const unitSeconds = charges.reduce((sum, charge) => sum + charge.unitSeconds, 0n);
  const runningQuantity = charges.reduce((sum, charge) => sum + charge.runningQuantity, 0n);
  const line = { clusterId, clusterName, resourceType, unitPriceMicroEuros, unitSeconds, runningQuantity };
  const amountCents = priceInCents(toUse(line), month.seconds);
  const days = findDays(charges);
  return days === undefined ? { ...line, amountCents } : { ...line, amountCents, days };
}

function findDays(charges: readonly Charge[]): RatedLine["days"] {
  const billed = charges.flatMap(({ days }) => days.filter(({ unitSeconds }) => unitSeconds !== 0n));
  const numbers = billed.map(({ dayOfMonth }) => dayOfMonth).toSorted((a, b) => a - b);
  const [first, last] = [numbers[0], numbers.at(-1)];
  return first === undefined || last === undefined ? undefined : { first, last };
}

/** What lines amount to by resource type, in cents. */
export function sumByType(lines: readonly RatedLine[]): [MeteredType, bigint][] {
  const types = Map.groupBy(lines, ({ resourceType }) => resourceType);
  return [...types].map(([type, own]) => [type, sumCents(own)]);
}

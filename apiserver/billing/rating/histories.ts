import type { PricePoint } from "../rate-card/store.ts";
import type { MeteredType, ResourceType } from "../resource-types.ts";

/** What a package costs and contains from an instant until the next change of it. */
export interface PackageChange {
  slug: string;
  /** For a whole month, in millionths of a euro. */
  priceMicroEuros: bigint;
  /** In the units of the rate card; what is not named is not contained. */
  included: ReadonlyMap<ResourceType, bigint>;
  effectiveFrom: Date;
}

/** All prices and packages that held at some time; the order is of no importance. */
export interface PriceHistory {
  prices: readonly PricePoint[];
  packages: readonly PackageChange[];
}

/** The terms of one package. */
export type RatedTerms = Pick<PackageChange, "priceMicroEuros" | "included">;

/** Prices by time. Every instant is in whole seconds since the epoch. */
export interface PriceTimeline {
  /** Seconds at which a price or a package changes, in order. */
  cuts: readonly number[];
  /** The price of a unit during the second that starts then. Throws when none held yet. */
  priceAt(type: ResourceType, second: number): bigint;
  /** undefined: a package that has no price; its clusters are billed per resource. */
  packageAt(type: MeteredType, second: number): RatedTerms | undefined;
}

interface TimelineStep<Value> {
  from: number;
  value: Value;
}

/**
 * Makes a history fit for look-ups. A second is billed at what holds when it starts: of several changes inside one
 * second the last one holds from the next second on, and the others never.
 */
export function toTimeline({ prices, packages }: PriceHistory): PriceTimeline {
  const priceSteps = toSteps(prices, ({ resourceType }) => resourceType);
  const packageSteps = toSteps(packages, ({ slug }) => `plan:${slug}`);
  const steps = [...priceSteps.values(), ...packageSteps.values()].flat();
  return {
    cuts: [...new Set(steps.map(({ from }) => from))].toSorted((a, b) => a - b),
    priceAt(type, second) {
      const change = valueAt(priceSteps.get(type), second);
      if (change === undefined) throw new Error(`${type} had no price at ${toDate(second).toISOString()}`);
      return change.priceMicroEuros;
    },
    packageAt: (type, second) => valueAt(packageSteps.get(type), second),
  };
}

/** Whether a metered type is the package of a cluster. */
export function isPackage(type: MeteredType): type is `plan:${string}` {
  return type.startsWith("plan:");
}

/** The instant of a count of seconds since the epoch. */
export function toDate(second: number): Date {
  return new Date(second * 1000);
}

function toSteps<Change extends { effectiveFrom: Date }>(
  changes: readonly Change[],
  keyOf: (change: Change) => string,
): Map<string, TimelineStep<Change>[]> {
  const steps = new Map<string, TimelineStep<Change>[]>();
  const ordered = changes.toSorted((a, b) => a.effectiveFrom.getTime() - b.effectiveFrom.getTime());
  for (const value of ordered) {
    const own = steps.get(keyOf(value)) ?? [];
    own.push({ from: Math.ceil(value.effectiveFrom.getTime() / 1000), value });
    steps.set(keyOf(value), own);
  }
  return steps;
}

function valueAt<Value>(
  steps: readonly TimelineStep<Value>[] | undefined,
  second: number,
): Value | undefined {
  return steps?.findLast(({ from }) => from <= second)?.value;
}

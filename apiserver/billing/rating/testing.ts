import fc from "fast-check";
import { type Month, monthOf, parseMonth } from "../month.ts";
import type { PricePoint } from "../rate-card/store.ts";
import { RESOURCE_TYPES, type ResourceType, type UsageInterval } from "../resource-types.ts";
import type { PriceHistory } from "./histories.ts";
import { rateLines } from "./lines.ts";

/** An interval of one organization: one vCPU of one cluster by default. */
export function interval(given: Partial<UsageInterval>): UsageInterval {
  return {
    organizationId: "organization",
    clusterId: "cluster",
    clusterName: "production",
    nodePoolId: null,
    resourceType: "vcpu",
    quantity: 1n,
    startedAt: new Date(0),
    endedAt: null,
    ...given,
  };
}

/** One price for every resource type since ever. */
export function flatPrices(priceMicroEuros: bigint): PricePoint[] {
  return RESOURCE_TYPES.map((resourceType) => ({
    resourceType,
    priceMicroEuros,
    effectiveFrom: new Date(0),
  }));
}

/** Any month of this century. */
export const anyMonth = fc
  .date({ min: new Date("2000-01-01"), max: new Date("2099-12-31"), noInvalidDate: true })
  .map(monthOf);

const METERED = ["control_plane", "vcpu", "memory", "storage_rwx", "public_ip", "plan:dev"] as const;
const POOLS = [null, "pool-a", "pool-b"] as const;
/** Intervals and changes of prices fall into the 40 days around a month's start, and often into one second. */
const SPAN_SECONDS = 40 * 86_400;

const anySecond = fc.oneof(fc.nat({ max: SPAN_SECONDS }), fc.integer({ min: 864_000, max: 864_003 }));

/** Any intervals of two clusters, in seconds from ten days before a month. */
export const anyIntervals = fc.array(
  fc.record({
    cluster: fc.constantFrom(null, "cluster-a", "cluster-b"),
    pool: fc.constantFrom(...POOLS),
    resourceType: fc.constantFrom(...METERED),
    quantity: fc.bigInt({ min: 0n, max: 50n }),
    from: anySecond,
    to: fc.option(anySecond),
  }),
  { maxLength: 12 },
);

/** Any history of prices, with changes inside one second, and of one package. */
export const anyHistory = fc.record({
  prices: fc.array(
    fc.record({
      type: fc.constantFrom<ResourceType>("control_plane", "vcpu", "memory", "storage_rwx", "public_ip"),
      price: fc.bigInt({ min: 0n, max: 100_000_000n }),
      at: anySecond,
      ms: fc.nat({ max: 999 }),
    }),
    { maxLength: 6 },
  ),
  packages: fc.array(
    fc.record({
      price: fc.bigInt({ min: 0n, max: 100_000_000n }),
      vcpus: fc.nat({ max: 60 }),
      at: anySecond,
    }),
    { maxLength: 3 },
  ),
});

type Generated<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;

/** The intervals of the generated ones, ten days before `start` being second 0. */
export function toIntervals(generated: Generated<typeof anyIntervals>, start: Date): UsageInterval[] {
  return generated.map(({ cluster, pool, resourceType, quantity, from, to }) => {
    const [first, last] = to === null ? [from, null] : [Math.min(from, to), Math.max(from, to)];
    return interval({
      clusterId: cluster,
      clusterName: cluster,
      nodePoolId: pool,
      resourceType,
      quantity,
      startedAt: atSecond(start, first),
      endedAt: last === null ? null : atSecond(start, last),
    });
  });
}

/** The history of the generated one; every resource type has a price before it. */
export function toHistory({ prices, packages }: Generated<typeof anyHistory>, start: Date): PriceHistory {
  const changes = prices.map(({ type, price, at, ms }) => ({
    resourceType: type,
    priceMicroEuros: price,
    effectiveFrom: new Date(atSecond(start, at).getTime() + ms),
  }));
  return {
    prices: [...flatPrices(5_000_000n), ...changes],
    packages: packages.map(({ price, vcpus, at }) => ({
      slug: "dev",
      priceMicroEuros: price,
      included: new Map<ResourceType, bigint>([["vcpu", BigInt(vcpus)]]),
      effectiveFrom: atSecond(start, at),
    })),
  };
}

function atSecond(start: Date, second: number): Date {
  return new Date(start.getTime() + (second - 864_000) * 1000);
}

const FEBRUARY = parseMonth("2026-02") as Month;

/** The lines of a whole month, by default February 2026, with flat prices unless the history has others. */
export const rate = (intervals: UsageInterval[], history: Partial<PriceHistory> = {}, month = FEBRUARY) =>
  rateLines({
    month,
    until: month.end,
    intervals,
    history: { prices: flatPrices(28_000_000n), packages: [], ...history },
  });

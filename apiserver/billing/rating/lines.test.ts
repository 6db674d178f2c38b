import { describe, expect, test } from "vitest";
import { type Month, parseMonth } from "../month.ts";
import type { UsageInterval } from "../resource-types.ts";
import { findCharges } from "./charges.ts";
import { flatPrices, interval, rate } from "./testing.ts";

const MONTH = parseMonth("2026-02") as Month;
const at = (text: string) => new Date(`2026-02-${text}Z`);
const DAY = 86_400n;

test.each(["2024-02", "2026-02", "2026-04", "2026-12", "2100-02"])(
  "a whole %s costs exactly the price",
  (name) => {
    const month = parseMonth(name) as Month;
    expect(rate([interval({ startedAt: month.start, endedAt: month.end })], {}, month)).toMatchObject([
      { resourceType: "vcpu", amountCents: 2800n, unitSeconds: BigInt(month.seconds) },
    ]);
  },
);

describe("a part of a month", () => {
  test.each([
    ["a second", interval({ startedAt: at("10T00:00:00"), endedAt: at("10T00:00:01") }), 1n, 0n],
    ["a day", interval({ startedAt: at("10T00:00:00"), endedAt: at("11T00:00:00") }), DAY, 100n],
    ["what began before", interval({ endedAt: at("02T00:00:00") }), DAY, 100n],
    ["what still runs", interval({ startedAt: at("28T00:00:00") }), DAY, 100n],
    ["two units", interval({ startedAt: at("28T00:00:00"), quantity: 2n }), 2n * DAY, 200n],
  ])("%s", (_name, used, unitSeconds, amountCents) => {
    expect(rate([used])).toMatchObject([{ unitSeconds, amountCents }]);
  });

  test.each([
    ["the month before", interval({ endedAt: MONTH.start })],
    ["the next month", interval({ startedAt: MONTH.end })],
    ["no time at all", interval({ startedAt: at("10T00:00:00"), endedAt: at("10T00:00:00") })],
    ["a quantity of 0", interval({ quantity: 0n })],
  ])("%s makes no line", (_name, used) => {
    expect(rate([used])).toEqual([]);
  });
});

test("a cluster has the name that it had when its last use began", () => {
  const renamed = interval({ startedAt: at("11T00:00:00"), clusterName: "shop" });
  const before = interval({ resourceType: "memory", endedAt: at("11T00:00:00") });
  for (const used of [
    [renamed, before],
    [before, renamed],
  ])
    expect(rate(used).map(({ clusterName }) => clusterName)).toEqual(["shop", "shop"]);
});

test("a resource may have no price before it is used, and none that is used", () => {
  const prices = flatPrices(28_000_000n).map((one) => ({ ...one, effectiveFrom: at("10T00:00:00") }));
  expect(rate([interval({ startedAt: at("28T00:00:00") })], { prices })).toMatchObject([
    { amountCents: 100n },
  ]);
  expect(() => rate([interval({ startedAt: at("09T00:00:00") })], { prices })).toThrow(/vcpu had no price/);
});

test("bytes are priced by the GiB", () => {
  const used = { clusterId: null, clusterName: null, resourceType: "storage_rwx" as const };
  expect(rate([interval({ ...used, quantity: 3n << 30n })])).toMatchObject([
    { clusterId: null, unitSeconds: (3n << 30n) * 28n * DAY, amountCents: 8400n },
  ]);
});

describe("changes of prices", () => {
  const change = (text: string, euros: bigint) => ({
    resourceType: "vcpu" as const,
    priceMicroEuros: euros * 1_000_000n,
    effectiveFrom: at(text),
  });
  const pricesWith = (...changes: ReturnType<typeof change>[]) => ({
    prices: [...changes, ...flatPrices(28_000_000n)],
  });

  test("split a line", () => {
    expect(rate([interval({})], pricesWith(change("11T00:00:00", 56n)))).toMatchObject([
      { unitPriceMicroEuros: 28_000_000n, unitSeconds: 10n * DAY, amountCents: 1000n },
      { unitPriceMicroEuros: 56_000_000n, unitSeconds: 18n * DAY, amountCents: 3600n },
    ]);
  });

  test("of two inside a second the last one holds from the next second on", () => {
    const history = pricesWith(change("28T00:00:00.900", 84n), change("28T00:00:00.100", 56n));
    expect(rate([interval({ startedAt: at("28T00:00:00") })], history)).toMatchObject([
      { unitPriceMicroEuros: 28_000_000n, unitSeconds: 1n },
      { unitPriceMicroEuros: 84_000_000n, unitSeconds: DAY - 1n },
    ]);
  });

  test("and back make one line for each price", () => {
    const history = pricesWith(change("11T00:00:00", 56n), change("21T00:00:00", 28n));
    expect(rate([interval({})], history).map(({ unitSeconds }) => unitSeconds)).toEqual([
      18n * DAY,
      10n * DAY,
    ]);
  });

  test("without a price nothing is rated", () => {
    const { prices } = pricesWith();
    const later = prices.map((one) => ({ ...one, effectiveFrom: at("02T00:00:00") }));
    expect(() => rate([interval({})], { prices: later })).toThrow("vcpu had no price at 2026-02-01T00:00:00");
  });
});

describe("an address", () => {
  const address = (given: Partial<UsageInterval>) => interval({ resourceType: "public_ip", ...given });

  test("costs the whole month's price that held when the month first saw it", () => {
    const dearer = [
      ...flatPrices(28_000_000n),
      { resourceType: "public_ip" as const, priceMicroEuros: 4_000_000n, effectiveFrom: at("10T00:00:00") },
      { resourceType: "public_ip" as const, priceMicroEuros: 9_000_000n, effectiveFrom: at("20T00:00:00") },
    ];
    const used = address({ startedAt: at("15T00:00:00"), endedAt: at("15T00:00:01") });
    const again = address({ startedAt: at("25T00:00:00") });
    expect(rate([used, again], { prices: dearer })).toMatchObject([
      { resourceType: "public_ip", unitPriceMicroEuros: 4_000_000n, amountCents: 400n },
    ]);
    expect(rate([address({})], { prices: dearer })).toMatchObject([{ amountCents: 2800n }]);
  });

  test("is charged once per cluster and month", () => {
    const lines = rate([address({}), address({ clusterId: "other" })]);
    expect(lines.map(({ amountCents }) => amountCents)).toEqual([2800n, 2800n]);
  });

  test("that a correction takes back wholly is not charged", () => {
    const times = { startedAt: at("10T00:00:00"), endedAt: at("11T00:00:00") };
    expect(rate([address(times), address({ ...times, quantity: -1n })])).toEqual([]);
  });
});

describe("a package", () => {
  const packages = [
    {
      slug: "dev",
      priceMicroEuros: 19_000_000n,
      included: new Map([["control_plane", 1n] as const, ["vcpu", 2n] as const]),
      effectiveFrom: new Date(0),
    },
  ];
  const plan = interval({ resourceType: "plan:dev" });

  test("is one line, and its contents cost nothing", () => {
    const used = [plan, interval({ resourceType: "control_plane" }), interval({ quantity: 2n })];
    expect(rate(used, { packages })).toMatchObject([{ resourceType: "plan:dev", amountCents: 1900n }]);
  });

  test("is one, however many parts of the cluster name it, from the first of them to the last", () => {
    const parts = [
      interval({ resourceType: "plan:dev", startedAt: at("02T00:00:00"), endedAt: at("04T00:00:00") }),
      interval({ resourceType: "plan:dev", startedAt: at("03T00:00:00"), endedAt: at("09T00:00:00") }),
    ];
    const inside = [
      interval({ quantity: 2n, startedAt: at("02T00:00:00"), endedAt: at("09T00:00:00") }),
      interval({ resourceType: "control_plane", startedAt: at("03T00:00:00"), endedAt: at("09T00:00:00") }),
    ];
    expect(rate([...parts, ...inside], { packages })).toMatchObject([
      { resourceType: "plan:dev", unitSeconds: 7n * DAY, amountCents: 475n },
    ]);
  });

  test("lets what exceeds it at each instant be billed: an idle time does not make up for it", () => {
    const first = interval({ quantity: 4n, endedAt: at("15T00:00:00") });
    expect(rate([plan, first], { packages })).toMatchObject([
      { resourceType: "plan:dev" },
      { resourceType: "vcpu", unitSeconds: 2n * 14n * DAY, amountCents: 2800n },
    ]);
  });

  test("is used up by the oldest node pool first", () => {
    const pools = ["pool-b", "pool-a"].map((nodePoolId) => interval({ nodePoolId, quantity: 2n }));
    const charges = findCharges({
      month: MONTH,
      until: MONTH.end,
      intervals: [plan, ...pools],
      history: { prices: flatPrices(1n), packages },
    });
    expect(charges).toMatchObject([
      { resourceType: "plan:dev" },
      { nodePoolId: "pool-a", usedUnitSeconds: 56n * DAY, unitSeconds: 0n },
      { nodePoolId: "pool-b", usedUnitSeconds: 56n * DAY, unitSeconds: 56n * DAY },
    ]);
  });

  test("of one cluster holds nothing for another one", () => {
    const other = interval({ clusterId: "other", quantity: 2n });
    expect(rate([plan, other], { packages })).toMatchObject([
      { clusterId: "cluster", amountCents: 1900n },
      { clusterId: "other", amountCents: 5600n },
    ]);
  });

  test("without a price is billed per resource", () => {
    const used = [interval({ resourceType: "plan:custom" }), interval({})];
    expect(rate(used, { packages })).toMatchObject([{ resourceType: "vcpu", amountCents: 2800n }]);
  });
});

test("by day, a charge is split at the first instant of every day", () => {
  const used = interval({ startedAt: at("27T12:00:00") });
  const history = { prices: flatPrices(1n), packages: [] };
  const charges = findCharges(
    { month: MONTH, until: MONTH.end, intervals: [used], history },
    { byDay: true },
  );
  expect(charges).toMatchObject([
    {
      unitSeconds: DAY / 2n + DAY,
      days: [
        { dayOfMonth: 27, unitSeconds: DAY / 2n },
        { dayOfMonth: 28, unitSeconds: DAY },
      ],
    },
  ]);
});

test("a correction takes back what it corrects", () => {
  const wrong = interval({ quantity: 4n, endedAt: at("11T00:00:00") });
  const correction = interval({ quantity: -3n, startedAt: at("02T00:00:00"), endedAt: at("11T00:00:00") });
  expect(rate([wrong, correction])).toMatchObject([{ unitSeconds: 4n * DAY + 9n * DAY }]);
});

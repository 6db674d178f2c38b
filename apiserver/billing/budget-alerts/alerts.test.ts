import { describe, expect, test } from "vitest";
import { monthOf } from "../month.ts";
import { findAlerts, findWatchedMonths } from "./alerts.ts";

const ORGANIZATION = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
/** February 2026 has 28 days: at 28 EUR a month a unit costs 1 EUR a day. */
const at = (day: number, hour = 0) => new Date(Date.UTC(2026, 1, day, hour));
/** A line of 5 tenths of a cent is rounded up: 432 s before the whole cent. */
const crossingAt = (day: number) => new Date(at(day).getTime() - 432_000);
const source = {
  month: monthOf(at(1)),
  intervals: [
    {
      organizationId: ORGANIZATION,
      clusterId: null,
      clusterName: null,
      nodePoolId: null,
      resourceType: "vcpu" as const,
      quantity: 1n,
      startedAt: at(1),
      endedAt: null,
    },
  ],
  history: {
    prices: [
      { resourceType: "vcpu" as const, priceMicroEuros: 28_000_000n, effectiveFrom: new Date("2020-01-01") },
    ],
    packages: [],
  },
};
const budget = { limitMicroEuros: 20_000_000n, thresholdsPct: [10, 50, 100] };

describe("a unit of 1 EUR a day with a budget of 20 EUR", () => {
  test.each<[string, Date, number[], number[], Date | undefined]>([
    ["nothing before a threshold", at(2), [], [], crossingAt(3)],
    ["the first one at its second", at(3), [], [10], crossingAt(11)],
    ["two at once, ascending", at(11), [], [10, 50], crossingAt(21)],
    ["none that has fired", at(11), [10], [50], crossingAt(21)],
    ["the last one, and none is left", at(21), [10, 50], [100], undefined],
    ["nothing when all have fired", at(22), [10, 50, 100], [], undefined],
  ])("reaches %s", (_what, now, fired, reachedPct, nextAt) => {
    const alerts = findAlerts(source, budget, new Set(fired), now);
    expect(alerts).toMatchObject({ reachedPct, nextAt });
  });

  test("will not reach a threshold in a month that ends before", () => {
    const high = { limitMicroEuros: 29_000_000n, thresholdsPct: [100] };
    expect(findAlerts(source, high, new Set(), at(2))).toMatchObject({ reachedPct: [], nextAt: undefined });
  });

  test("compares a limit of part of a cent with whole cents above it", () => {
    const tiny = { limitMicroEuros: 1n, thresholdsPct: [1] };
    expect(findAlerts(source, tiny, new Set(), at(1)).reachedPct).toEqual([]);
    expect(findAlerts(source, tiny, new Set(), at(1, 1)).reachedPct).toEqual([1]);
  });
});

test.each([
  ["2026-03-01T00:00:00Z", ["2026-02", "2026-03"]],
  ["2026-03-01T05:59:59Z", ["2026-02", "2026-03"]],
  ["2026-03-01T06:00:00Z", ["2026-03"]],
  ["2026-01-01T01:00:00Z", ["2025-12", "2026-01"]],
])("at %s the months %j are watched", (now, months) => {
  expect(findWatchedMonths(new Date(now)).map(({ name }) => name)).toEqual(months);
});

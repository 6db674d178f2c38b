import fc from "fast-check";
import { expect, test } from "vitest";
import { type Month, parseMonth } from "../month.ts";
import { rateLines, sumByType } from "../rating/lines.ts";
import {
  anyHistory,
  anyIntervals,
  anyMonth,
  flatPrices,
  interval,
  toHistory,
  toIntervals,
} from "../rating/testing.ts";
import { findDailyCosts } from "./compose.ts";

const FEBRUARY = parseMonth("2026-02") as Month;
const history = { prices: flatPrices(28_000_000n), packages: [] };
const at = (day: string) => new Date(`2026-02-${day}T00:00:00Z`);

test("each day of the month costs what was used in it, also when that is nothing", () => {
  const used = [
    interval({ startedAt: at("02"), endedAt: at("04") }),
    interval({ startedAt: at("03"), endedAt: at("04"), quantity: 2n, resourceType: "disk" }),
  ];
  const days = findDailyCosts({ month: FEBRUARY, intervals: used, history });
  expect(days.slice(0, 4)).toEqual([
    { date: "2026-02-01", cents: {} },
    { date: "2026-02-02", cents: { vcpu: 100 } },
    { date: "2026-02-03", cents: { vcpu: 100, disk: 200 } },
    { date: "2026-02-04", cents: {} },
  ]);
  expect(days).toHaveLength(28);
});

test("an address costs its month on the day on which it was first seen", () => {
  const used = [interval({ startedAt: at("05"), resourceType: "public_ip" })];
  const days = findDailyCosts({ month: FEBRUARY, intervals: used, history });
  expect(days.filter(({ cents }) => Object.keys(cents).length > 0)).toEqual([
    { date: "2026-02-05", cents: { public_ip: 2800 } },
  ]);
});

test("a correction takes away the cost of its seconds and no more", () => {
  const used = [
    interval({ startedAt: at("02"), endedAt: at("04") }),
    interval({ startedAt: at("03"), endedAt: at("04"), quantity: -2n }),
  ];
  const source = { month: FEBRUARY, intervals: used, history };
  const days = findDailyCosts(source);
  expect(days.slice(1, 3)).toEqual([
    { date: "2026-02-02", cents: { vcpu: 100 } },
    { date: "2026-02-03", cents: { vcpu: 0 } },
  ]);
  expect(rateLines({ ...source, until: FEBRUARY.end })).toMatchObject([{ amountCents: 100n }]);
});

test("for all intervals and prices the days of each resource type add up to its lines", () => {
  fc.assert(
    fc.property(anyMonth, anyIntervals, anyHistory, (month, some, prices) => {
      const source = {
        month,
        intervals: toIntervals(some, month.start),
        history: toHistory(prices, month.start),
      };
      const sums = new Map<string, number>();
      for (const { cents } of findDailyCosts(source))
        for (const [type, amount] of Object.entries(cents) as [string, number][])
          sums.set(type, (sums.get(type) ?? 0) + amount);
      const billed = sumByType(rateLines({ ...source, until: month.end }));
      expect(withoutZero([...sums])).toEqual(
        withoutZero(billed.map(([type, amount]) => [type, Number(amount)] as const)),
      );
    }),
    { numRuns: 300 },
  );
});

function withoutZero(sums: readonly (readonly [string, number])[]): Map<string, number> {
  return new Map(sums.filter(([, amount]) => amount !== 0));
}

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Month, parseMonth } from "../month.ts";
import type { MeteredType, UsageInterval } from "../resource-types.ts";
import { findCharges } from "./charges.ts";
import { rateLines, sumByLabel, sumCents, sumToLines } from "./lines.ts";
import { anyHistory, anyIntervals, anyMonth, interval, rate, toHistory, toIntervals } from "./testing.ts";

const MONTH = parseMonth("2026-02") as Month;

describe("for all intervals and prices", () => {
  test("cutting intervals anywhere changes no line", () => {
    fc.assert(
      fc.property(
        anyMonth,
        anyIntervals,
        anyHistory,
        fc.nat({ max: 40 * 86_400 }),
        (month, some, prices, cut) => {
          const history = toHistory(prices, month.start);
          const intervals = toIntervals(some, month.start);
          const instant = new Date(month.start.getTime() + (cut - 864_000) * 1000);
          const parts = intervals.flatMap((one) => cutAt(one, instant));
          expect(rate(parts, history, month)).toEqual(rate(intervals, history, month));
        },
      ),
      { numRuns: 300 },
    );
  });

  test("the order of the intervals changes no line and no order of lines", () => {
    const some = anyIntervals.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    );
    fc.assert(
      fc.property(anyMonth, some, anyHistory, (month, [all, shuffled], prices) => {
        const history = toHistory(prices, month.start);
        const rated = (used: typeof all) => rate(toIntervals(used, month.start), history, month);
        expect(rated(shuffled)).toEqual(rated(all));
      }),
      { numRuns: 200 },
    );
  });

  test("what is used adds up to what is billed by any label, to the cent", () => {
    const anyValue = fc.constantFrom(null, "", "web", "shop");
    const anyValues = fc.dictionary(fc.constantFrom("pool-a", "pool-b", "cluster-a", "cluster-b"), anyValue);
    fc.assert(
      fc.property(anyMonth, anyIntervals, anyHistory, anyValues, (month, some, prices, values) => {
        const history = toHistory(prices, month.start);
        const rating = { month, until: month.end, intervals: toIntervals(some, month.start), history };
        const labelOf = ({
          nodePoolId,
          clusterId,
        }: {
          nodePoolId: string | null;
          clusterId: string | null;
        }) => values[nodePoolId ?? ""] ?? values[clusterId ?? ""] ?? null;
        const sums = sumByLabel(findCharges(rating), { month, grouping: { key: "team", labelOf } });
        const total = [...sums.values()].reduce((sum, cents) => sum + cents, 0n);
        expect(total).toBe(sumCents(rateLines(rating)));
        const order = ["", "shop", "web", null].filter((value) => sums.has(value));
        expect([...sums.keys()]).toEqual(order);
      }),
      { numRuns: 200 },
    );
  });

  test("what is shown by day adds up to what is billed", () => {
    fc.assert(
      fc.property(anyMonth, anyIntervals, anyHistory, (month, some, prices) => {
        const rating = {
          month,
          until: month.end,
          intervals: toIntervals(some, month.start),
          history: toHistory(prices, month.start),
        };
        const charges = findCharges(rating, { byDay: true });
        expect(byKey(sumToLines(charges, month))).toMatchObject(byKey(rateLines(rating)));
        for (const { days, unitSeconds, usedUnitSeconds } of charges) {
          expect(days.reduce((sum, day) => sum + day.unitSeconds, 0n)).toBe(unitSeconds);
          expect(days.reduce((sum, day) => sum + day.usedUnitSeconds, 0n)).toBe(usedUnitSeconds);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("over the contents of a package each second is billed what exceeds them", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat({ max: 20 }), fc.nat({ max: 60 }), fc.nat({ max: 60 }))),
        (uses) => {
          const second = (one: number) => new Date(MONTH.start.getTime() + one * 1000);
          const intervals = uses.map(([quantity, from, to]) =>
            interval({
              quantity: BigInt(quantity),
              startedAt: second(Math.min(from, to)),
              endedAt: second(Math.max(from, to)),
            }),
          );
          const terms = { slug: "dev", priceMicroEuros: 1n, effectiveFrom: new Date(0) };
          const packages = [{ ...terms, included: new Map([["vcpu", 12n] as const]) }];
          const lines = rate([interval({ resourceType: "plan:dev" }), ...intervals], { packages });
          let expected = 0;
          for (let now = 0; now < 60; now++) {
            const used = uses.reduce(
              (sum, [quantity, from, to]) =>
                Math.min(from, to) <= now && now < Math.max(from, to) ? sum + quantity : sum,
              0,
            );
            expected += Math.max(0, used - 12);
          }
          const billed = lines.find(
            ({ resourceType }: { resourceType: MeteredType }) => resourceType === "vcpu",
          );
          expect(billed?.unitSeconds ?? 0n).toBe(BigInt(expected));
        },
      ),
    );
  });

  test("the total is the sum of the lines of the clusters alone", () => {
    fc.assert(
      fc.property(anyMonth, anyIntervals, anyHistory, (month, some, prices) => {
        const history = toHistory(prices, month.start);
        const intervals = toIntervals(some, month.start);
        const clusters = [...Map.groupBy(intervals, ({ clusterId }) => clusterId).values()];
        const alone = clusters.flatMap((own) => rate(own, history, month));
        expect(sumCents(rate(intervals, history, month))).toBe(sumCents(alone));
      }),
      { numRuns: 100 },
    );
  });
});

function cutAt(one: UsageInterval, instant: Date): UsageInterval[] {
  const isInside = one.startedAt < instant && (one.endedAt === null || instant < one.endedAt);
  return isInside
    ? [
        { ...one, endedAt: instant },
        { ...one, startedAt: instant },
      ]
    : [one];
}

function byKey(lines: ReturnType<typeof rate>) {
  const keyOf = (line: (typeof lines)[number]) =>
    `${line.clusterId} ${line.resourceType} ${line.unitPriceMicroEuros}`;
  return lines.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

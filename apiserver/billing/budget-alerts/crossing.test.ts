import fc from "fast-check";
import { expect, test } from "vitest";
import { type Month, parseMonth } from "../month.ts";
import { rateLines, sumCents } from "../rating/lines.ts";
import {
  anyHistory,
  anyIntervals,
  anyMonth,
  flatPrices,
  interval,
  toHistory,
  toIntervals,
} from "../rating/testing.ts";
import { findCrossing } from "./alerts.ts";

const MONTH = parseMonth("2026-02") as Month;
const at = (text: string) => new Date(`2026-02-${text}Z`);
const steady = {
  month: MONTH,
  intervals: [interval({})],
  history: { prices: flatPrices(28_000_000n), packages: [] },
};

test.each([
  ["half of the month's price is reached in its middle", 1400n, at("14T23:52:48")],
  ["all of it shortly before its end, where it rounds to it", 2800n, at("28T23:52:48")],
  ["more is not reached", 2801n, undefined],
])("%s", (_name, limitCents, expected) => {
  expect(findCrossing(steady, MONTH.start, limitCents)).toEqual(expected);
});

test("what is reached already is reached at once", () => {
  expect(findCrossing(steady, at("20T10:00:00"), 100n)).toEqual(at("20T10:00:00"));
});

test("a price that takes effect within the second counts from the next second on", () => {
  const change = {
    resourceType: "vcpu" as const,
    priceMicroEuros: 2_419_200_000_000n,
    effectiveFrom: at("10T00:00:00.500"),
  };
  const history = { prices: [...steady.history.prices, change], packages: [] };
  const spent = 900n;
  const reached = findCrossing({ ...steady, history }, at("10T00:00:00"), spent + 500n);
  expect(reached).toEqual(at("10T00:00:06"));
});

test("for all intervals and prices the spend reaches the limit at that second and at none before", () => {
  const second = fc.nat({ max: 2_400_000 });
  const limit = fc.bigInt({ min: 1n, max: 1_000_000n });
  fc.assert(
    fc.property(
      anyMonth,
      anyIntervals,
      anyHistory,
      second,
      limit,
      (month, some, prices, since, limitCents) => {
        const intervals = toIntervals(some, month.start).map((one) => ({
          ...one,
          quantity: one.quantity * 100n,
        }));
        const rating = { month, intervals, history: toHistory(prices, month.start) };
        const first = new Date(month.start.getTime() + since * 1000);
        const spendAt = (until: Date) => sumCents(rateLines({ ...rating, until }));
        const reached = findCrossing(rating, first, limitCents);
        const last = reached ?? month.end;
        const earlier = new Date(last.getTime() - 1000);
        const found = {
          isReached: spendAt(last) >= limitCents,
          isReachedEarlier: earlier >= first && spendAt(earlier) >= limitCents,
        };
        expect(found).toEqual({ isReached: reached !== undefined, isReachedEarlier: false });
      },
    ),
    { numRuns: 200 },
  );
});

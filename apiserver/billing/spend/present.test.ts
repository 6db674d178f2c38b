import fc from "fast-check";
import { expect, test } from "vitest";
import { createId } from "../../../shared/program/id.ts";
import { MAX_PAGE_BYTES } from "../../http/contract/page.ts";
import { type Month, parseMonth } from "../month.ts";
import { flatPrices, interval } from "../rating/testing.ts";
import { runAtOnce, type Steps } from "../turns.ts";
import { limitGroups, presentForecast, presentSpend, toUsageCsv } from "./present.ts";

const aGroup = (value: string | null, cents: number) => ({
  value,
  cents: BigInt(cents),
  centsAtEnd: BigInt(cents) * 2n,
});
/** So many groups, of which each costs a cent more than the one before it, and what has no label. */
const groupsOf = (count: number) => [
  ...Array.from({ length: count }, (_, index) => aGroup(`v${String(index).padStart(4, "0")}`, index)),
  aGroup(null, 0),
];

test("1000 groups are all there", () => {
  const groups = groupsOf(999);
  expect(limitGroups(groups)).toEqual(groups);
});

test("of 1001 groups the two that cost least are the last one, which says so, and never what has no label", () => {
  const groups = groupsOf(1000);
  expect(limitGroups(groups)).toEqual([
    ...groups.slice(2),
    { value: null, cents: 1n, centsAtEnd: 2n, other_values: 2 },
  ]);
});

test("groups add up to the same to the cent, and there are at most 1000, however many values there are", () => {
  const amounts = fc.array(fc.maxSafeNat(), { minLength: 990, maxLength: 1500 });
  fc.assert(
    fc.property(amounts, (all) => {
      const groups = all.map((cents, index) => aGroup(`v${index}`, cents));
      const limited = limitGroups(groups);
      const sum = (some: readonly { cents: bigint; centsAtEnd: bigint }[]) =>
        some.reduce((total, { cents, centsAtEnd }) => total + cents * 3n + centsAtEnd, 0n);
      expect(limited.length).toBeLessThanOrEqual(1000);
      expect(sum(limited)).toBe(sum(groups));
      const hidden = limited.at(-1)?.other_values ?? 0;
      expect(limited.length + Math.max(0, hidden - 1)).toBe(groups.length);
    }),
    { numRuns: 20 },
  );
});

test("a page of usage ends where 1 MiB is reached, the next one follows, and the sums are those of the month", () => {
  const month = parseMonth("2026-10") as Month;
  const pools = Array.from({ length: 120 }, createId);
  const intervals = Array.from({ length: 5 }, createId).flatMap((clusterId) =>
    pools.map((nodePoolId) => interval({ clusterId, nodePoolId })),
  );
  const source = { month, intervals, history: { prices: flatPrices(1_000_000n), packages: [] } };
  const read = (cursor: string | undefined, limit: number) =>
    runAtOnce(presentSpend({ orgId: createId(), source, now: month.end }, { cursor, limit }));

  const first = read(undefined, 100);
  const second = read(first.next_cursor ?? "", 100);
  const third = read(second.next_cursor ?? "", 100);
  const pages = [first, second, third];
  const shown = pages.flatMap(({ items }) => items);
  expect(shown.map((cluster) => cluster.cluster_id)).toEqual([
    ...new Set(intervals.map(({ clusterId }) => clusterId)),
  ]);
  expect(pages.map(({ items }) => items.length)).toEqual([2, 2, 1]);
  expect(first.next_cursor).toBe(first.items.at(-1)?.cluster_id);
  expect(third.next_cursor).toBeNull();
  for (const { items, amount_cents } of pages) {
    expect(Buffer.byteLength(JSON.stringify(items))).toBeLessThan(MAX_PAGE_BYTES);
    expect(amount_cents).toBe(5 * pools.length * 100);
  }
  expect(shown.reduce((sum, cluster) => sum + cluster.amount_cents, 0)).toBe(first.amount_cents);
});

test("the file of a month is there as a whole, or not at all where it would have more bytes than it may", () => {
  const month = parseMonth("2026-10") as Month;
  const source = {
    month,
    intervals: [interval({})],
    history: { prices: flatPrices(1_000_000n), packages: [] },
  };
  const spend = { orgId: createId(), source, now: month.end };
  const write = (maxBytes: number) => runAtOnce(toUsageCsv(spend, maxBytes));
  const csv = write(MAX_PAGE_BYTES) ?? "";
  expect(csv.split("\r\n")).toHaveLength(1 + 31 + 1);
  expect(write(Buffer.byteLength(csv))).toBe(csv);
  expect(write(Buffer.byteLength(csv) - 1)).toBeUndefined();
});

test("what a month amounts to is computed in steps, at least one for each change of what is in use", () => {
  const month = parseMonth("2026-10") as Month;
  const at = (second: number) => new Date(month.start.getTime() + second * 1000);
  const intervals = Array.from({ length: 300 }, (_, index) => interval({ startedAt: at(index) }));
  const source = { month, intervals, history: { prices: flatPrices(1_000_000n), packages: [] } };
  const spend = { orgId: createId(), source, now: month.end };
  const countSteps = (steps: Steps<unknown>) => [...steps].length;
  expect(countSteps(presentSpend(spend, { limit: 1 }))).toBeGreaterThanOrEqual(300);
  expect(countSteps(presentSpend(spend, { cursor: createId(), limit: 1 }))).toBeGreaterThanOrEqual(300);
  expect(countSteps(presentForecast(spend))).toBeGreaterThanOrEqual(2 * 300);
  expect(countSteps(toUsageCsv(spend, MAX_PAGE_BYTES))).toBeGreaterThanOrEqual(300 + 31);
});

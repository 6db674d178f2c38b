import { describe, expect, test } from "vitest";
import { type Month, parseMonth } from "../month.ts";
import { flatPrices, interval } from "../rating/testing.ts";
import type { UsageInterval } from "../resource-types.ts";
import { runAtOnce } from "../turns.ts";
import { composeLines, type InvoicedLine } from "./compose.ts";

const JANUARY = parseMonth("2026-01") as Month;
const FEBRUARY = parseMonth("2026-02") as Month;
const compose = (...given: Parameters<typeof composeLines>) => runAtOnce(composeLines(...given));
const history = { prices: flatPrices(31_000_000n), packages: [] };
const DAY = 86_400n;

const source = (month: Month, intervals: UsageInterval[]) => ({ month, intervals, history });
const day = (month: string, given: Partial<UsageInterval> = {}) =>
  interval({ startedAt: new Date(`${month}-10`), endedAt: new Date(`${month}-11`), ...given });
const january = (intervals: UsageInterval[], invoiced: InvoicedLine[]) => [
  { source: source(JANUARY, intervals), invoiced },
];
const invoicedOf = (intervals: UsageInterval[]): InvoicedLine[] => compose(source(JANUARY, intervals), []);

test("a month is invoiced by its lines", () => {
  expect(compose(source(JANUARY, [day("2026-01")]), [])).toEqual([
    {
      period: "2026-01-01",
      adjustment: false,
      clusterId: "cluster",
      clusterName: "production",
      resourceType: "vcpu",
      unitPriceEUR: "31.000000",
      unitSeconds: DAY,
      amountCents: 100n,
      firstDay: "2026-01-10",
      lastDay: "2026-01-10",
    },
  ]);
});

test("each price has the days on which it was charged, and an address the whole month", () => {
  const price = { resourceType: "vcpu" as const, priceMicroEuros: 62_000_000n };
  const changed = {
    ...history,
    prices: [...history.prices, { ...price, effectiveFrom: new Date("2026-01-15T12:00Z") }],
  };
  const used = interval({ startedAt: new Date("2026-01-10"), endedAt: null });
  const address = interval({ resourceType: "public_ip", startedAt: new Date("2026-01-10"), endedAt: null });
  const lines = compose({ ...source(JANUARY, [used, address]), history: changed }, []);
  expect(lines.map(({ unitPriceEUR, firstDay, lastDay }) => [unitPriceEUR, firstDay, lastDay])).toEqual([
    ["31.000000", "2026-01-10", "2026-01-15"],
    ["31.000000", null, null],
    ["62.000000", "2026-01-15", "2026-01-31"],
  ]);
});

describe("what changed in a month after its invoice", () => {
  test("nothing: no adjustment", () => {
    const used = [day("2026-01")];
    expect(compose(source(FEBRUARY, []), january(used, invoicedOf(used)))).toEqual([]);
  });

  test("late usage is a dated adjustment of what is more", () => {
    const before = [day("2026-01")];
    const after = [day("2026-01", { quantity: 3n }), day("2026-01", { resourceType: "disk" })];
    expect(compose(source(FEBRUARY, []), january(after, invoicedOf(before)))).toMatchObject([
      {
        period: "2026-01-01",
        adjustment: true,
        resourceType: "vcpu",
        unitSeconds: 2n * DAY,
        amountCents: 200n,
      },
      { period: "2026-01-01", adjustment: true, resourceType: "disk", unitSeconds: DAY, amountCents: 100n },
    ]);
  });

  test("what was adjusted before is not adjusted again", () => {
    const [first, more] = [[day("2026-01")], [day("2026-01", { quantity: 3n })]];
    const adjustment = compose(source(FEBRUARY, []), january(more, invoicedOf(first)));
    const invoiced = [...invoicedOf(first), ...adjustment];
    expect(compose(source(FEBRUARY, []), january(more, invoiced))).toEqual([]);
  });

  test("what is less is taken back, also a line that vanished", () => {
    const before = [day("2026-01", { quantity: 3n }), day("2026-01", { resourceType: "disk" })];
    const own = interval({ startedAt: FEBRUARY.start, endedAt: FEBRUARY.end });
    const lines = compose(source(FEBRUARY, [own]), january([day("2026-01")], invoicedOf(before)));
    expect(lines).toMatchObject([
      { adjustment: false, amountCents: 3100n },
      { adjustment: true, resourceType: "vcpu", unitSeconds: -2n * DAY, amountCents: -200n },
      { adjustment: true, resourceType: "disk", unitSeconds: -DAY, amountCents: -100n },
    ]);
  });

  test("nothing is taken back beyond what the invoice amounts to", () => {
    const before = invoicedOf([day("2026-01", { quantity: 3n })]);
    expect(compose(source(FEBRUARY, []), january([], before))).toEqual([]);
  });
});

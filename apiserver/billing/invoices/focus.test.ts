import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatCents } from "../money.ts";
import { monthBefore, monthOfPeriod } from "../month.ts";
import { sumCents } from "../rating/lines.ts";
import { anyHistory, anyIntervals, anyMonth, toHistory, toIntervals } from "../rating/testing.ts";
import { runAtOnce } from "../turns.ts";
import { composeLines, type InvoiceLine } from "./compose.ts";
import {
  FOCUS_COLUMNS,
  type FocusRow,
  toCreditNoteRows,
  toFocusCsv,
  toInvoiceRows,
  toLineRows,
} from "./focus.ts";
import { aLine, anInvoice } from "./testing/documents.ts";
import { vatCents } from "./vat.ts";

const domestic = { vatCase: "domestic", vatBasisPoints: 1900, vatCents: 19n } as const;
const invoice = anInvoice(100n, domestic);
const rowsOf = (line: Partial<InvoiceLine>) => [...toInvoiceRows({ invoice, lines: [aLine(line)] })];
const note = { ...invoice, number: "M-CN-2026-000001", issuedAt: new Date("2026-12-31T23:59:59.999Z") };

test("the columns are those of FOCUS 1.0, in the order of the alphabet, then those that are not of FOCUS", () => {
  const own = FOCUS_COLUMNS.filter((column) => !column.startsWith("x_"));
  expect(own).toHaveLength(43);
  expect(own).toEqual(own.toSorted());
  expect(FOCUS_COLUMNS.slice(own.length)).toEqual(["x_DocumentNumber"]);
});

test("a file has a header, and what a row does not say is an empty cell", () => {
  expect(toFocusCsv([])).toBe(`${FOCUS_COLUMNS.join(",")}\r\n`);
  const [, row = ""] = toFocusCsv([{ BilledCost: "1.00", Tags: "{}", ChargeClass: null }]).split("\r\n");
  expect(row).toBe(`,1.00${",".repeat(41)}{},`);
});

test("a line is a row with its rounded amount as each cost, and its exact price as ListCost", () => {
  const line = {
    resourceType: "vcpu",
    unitPriceEUR: "5.000000",
    unitSeconds: 86_400n,
    amountCents: 16n,
  } as const;
  expect(rowsOf({ ...line, firstDay: "2026-10-03", lastDay: "2026-10-14" })[0]).toEqual({
    BilledCost: "0.16",
    BillingAccountId: invoice.orgId,
    BillingAccountName: "Beispiel & Söhne",
    BillingCurrency: "EUR",
    BillingPeriodEnd: "2026-11-01T00:00:00Z",
    BillingPeriodStart: "2026-10-01T00:00:00Z",
    ChargeCategory: "Usage",
    ChargeClass: null,
    ChargeDescription: "vCPU, 2026-10-03 to 2026-10-14, at 5.000000 EUR a month",
    ChargeFrequency: "Usage-Based",
    ChargePeriodEnd: "2026-10-15T00:00:00Z",
    ChargePeriodStart: "2026-10-03T00:00:00Z",
    ConsumedQuantity: "86400.0",
    ConsumedUnit: "Core-Seconds",
    ContractedCost: "0.16",
    ContractedUnitPrice: "5.000000",
    EffectiveCost: "0.16",
    InvoiceIssuerName: "Marina Cloud GmbH",
    ListCost: "0.161290322580000000",
    ListUnitPrice: "5.000000",
    PricingCategory: "Standard",
    PricingQuantity: "0.032258064516",
    PricingUnit: "Core-Months",
    ProviderName: "Marina Cloud GmbH",
    PublisherName: "Marina Cloud GmbH",
    ResourceId: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
    ResourceName: "production",
    ResourceType: "Cluster",
    ServiceCategory: "Compute",
    ServiceName: "Managed Kubernetes",
    SkuId: "vcpu",
    SkuPriceId: "vcpu@5.000000",
    Tags: "{}",
    x_DocumentNumber: "M-2026-000001",
  });
});

test("the tags of a line are its labels, in the order of their keys; VAT and what is not known have none", () => {
  const [line, tax] = rowsOf({ labels: { team: "web", "example.com/stage": "" } });
  expect([line?.Tags, tax?.Tags]).toEqual(['{"example.com/stage":"","team":"web"}', "{}"]);
  expect([{}, null, undefined].map((labels) => rowsOf({ labels: labels ?? null })[0]?.Tags)).toEqual([
    "{}",
    "{}",
    "{}",
  ]);
});

const WHOLE_MONTH = ["2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z"];

test.each([
  ["of the whole month", { firstDay: "2026-10-01", lastDay: "2026-10-31" }, WHOLE_MONTH],
  [
    "of one day",
    { firstDay: "2026-10-31", lastDay: "2026-10-31" },
    ["2026-10-31T00:00:00Z", "2026-11-01T00:00:00Z"],
  ],
  ["of days that are not known", {}, WHOLE_MONTH],
  [
    "of an earlier month",
    { period: "2026-02-01", adjustment: true },
    ["2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"],
  ],
])(
  "the charge period of a line %s is its days, and the billing period that of the invoice",
  (_what, line, days) => {
    const [row] = rowsOf(line);
    expect([row?.ChargePeriodStart, row?.ChargePeriodEnd]).toEqual(days);
    expect([row?.BillingPeriodStart, row?.BillingPeriodEnd]).toEqual(WHOLE_MONTH);
  },
);

test.each([
  ["control_plane", "Usage", "Compute", "Unit-Months", "Unit-Seconds"],
  ["vcpu", "Usage", "Compute", "Core-Months", "Core-Seconds"],
  ["memory", "Usage", "Compute", "GiB-Months", "GiB-Seconds"],
  ["disk", "Usage", "Compute", "GiB-Months", "GiB-Seconds"],
  ["storage_block", "Usage", "Storage", "GiB-Months", "GiB-Seconds"],
  ["storage_rwx", "Usage", "Storage", "GiB-Months", "B-Seconds"],
  ["loadbalancer", "Usage", "Networking", "Unit-Months", "Unit-Seconds"],
  ["registry", "Usage", "Developer Tools", "GiB-Months", "B-Seconds"],
  ["snapshot", "Usage", "Storage", "GiB-Months", "GiB-Seconds"],
  ["public_ip", "Usage", "Networking", "Unit-Months", "Unit-Seconds"],
  ["plan:dev", "Purchase", "Compute", "Unit-Months", undefined],
] as const)(
  "a line of %s is %s, in the category %s",
  (resourceType, category, service, unit, consumedUnit) => {
    const [row] = rowsOf({ resourceType });
    expect(row).toMatchObject({ ChargeCategory: category, ServiceCategory: service, PricingUnit: unit });
    expect(row?.ConsumedUnit).toBe(consumedUnit);
    expect(row?.ConsumedQuantity === undefined).toBe(consumedUnit === undefined);
    expect(row?.ChargeFrequency === "Usage-Based").toBe(category === "Usage");
  },
);

test("bytes are priced by the GiB, and a line without a cluster has no resource", () => {
  const unitSeconds = 2_678_400n << 30n;
  const [row] = rowsOf({ resourceType: "storage_rwx", unitSeconds, clusterId: null, clusterName: null });
  expect(row).toMatchObject({
    PricingQuantity: "1.000000000000",
    ListCost: "100.000000000000000000",
    ConsumedQuantity: `${unitSeconds}.0`,
    ResourceId: null,
    ResourceName: null,
    ResourceType: null,
  });
});

test("VAT is one row without unit price and quantity, and VAT of 0 is none", () => {
  const [, tax, ...others] = rowsOf({});
  expect(tax).toMatchObject({
    ChargeCategory: "Tax",
    BilledCost: "0.19",
    ListCost: "0.19",
    ChargeDescription: "VAT 19.00 %",
    ChargePeriodStart: "2026-10-01T00:00:00Z",
  });
  expect(tax).not.toHaveProperty("PricingQuantity");
  expect(tax).not.toHaveProperty("ListUnitPrice");
  expect(tax).not.toHaveProperty("ChargeClass");
  expect(others).toEqual([]);
  expect([
    ...toInvoiceRows({ invoice: anInvoice(100n, { vatCase: "outside_eu" }), lines: [aLine()] }),
  ]).toHaveLength(1);
});

test("an adjustment is a correction, also below 0", () => {
  const [row] = rowsOf({ adjustment: true, period: "2026-09-01", amountCents: -200n, unitSeconds: -86_400n });
  expect(row).toMatchObject({
    ChargeClass: "Correction",
    ChargeCategory: "Usage",
    BilledCost: "-2.00",
    PricingQuantity: "-0.033333333333",
    ConsumedQuantity: "-86400.0",
  });
});

test("a credit note is billed in the month of its issue, and corrects that of its invoice, with its VAT", () => {
  const lines = [
    { description: "vCPU", amountCents: 60n },
    { description: "Memory", amountCents: 40n },
  ];
  const rows = toCreditNoteRows({ ...note, correctedPeriod: "2026-10-01", lines });
  const common = {
    ChargeClass: "Correction",
    BillingPeriodStart: "2026-12-01T00:00:00Z",
    BillingPeriodEnd: "2027-01-01T00:00:00Z",
    ChargePeriodStart: "2026-10-01T00:00:00Z",
    ChargePeriodEnd: "2026-11-01T00:00:00Z",
    x_DocumentNumber: "M-CN-2026-000001",
  };
  expect(rows).toMatchObject([
    { ...common, ChargeCategory: "Usage", ChargeDescription: "vCPU", BilledCost: "-0.60", ListCost: "-0.60" },
    { ...common, ChargeCategory: "Usage", ChargeDescription: "Memory", BilledCost: "-0.40" },
    { ...common, ChargeCategory: "Tax", BilledCost: "-0.19" },
  ]);
});

describe("for all invoices", () => {
  const anyInvoice = fc
    .record({
      month: anyMonth,
      intervals: anyIntervals,
      late: anyIntervals,
      prices: anyHistory,
      basisPoints: fc.constantFrom(0, 1, 1900, 10_000),
    })
    .map(({ month, intervals, late, prices, basisPoints }) => {
      const before = monthBefore(month);
      const history = toHistory(prices, before.start);
      const earlier = { month: before, intervals: toIntervals(intervals, before.start), history };
      const intervalsBefore = toIntervals(late, before.start);
      const invoiced = runAtOnce(composeLines({ ...earlier, intervals: intervalsBefore }, []));
      const source = { month, intervals: toIntervals(late, month.start), history };
      const lines = runAtOnce(composeLines(source, [{ source: earlier, invoiced }]));
      const net = sumCents(lines);
      const vat = { case: "domestic", basisPoints } as const;
      const terms = { vatCase: vat.case, vatBasisPoints: basisPoints, vatCents: vatCents(net, vat) };
      return { invoice: { ...anInvoice(net, terms), period: `${month.name}-01` }, lines };
    });

  test("what is billed without Tax is the net total to the cent, and Tax is the VAT", () => {
    fc.assert(
      fc.property(anyInvoice, (one) => {
        const rows = [...toInvoiceRows(one)];
        const tax = rows.filter(({ ChargeCategory }) => ChargeCategory === "Tax");
        const net = rows.filter((row) => !tax.includes(row));
        for (const column of ["BilledCost", "EffectiveCost", "ContractedCost"] as const) {
          expect(formatCents(sumOf(net, column))).toBe(formatCents(one.invoice.amountCents));
          expect(formatCents(sumOf(tax, column))).toBe(formatCents(one.invoice.vatCents));
        }
        expect(net).toHaveLength(one.lines.length);
      }),
      { numRuns: 100 },
    );
  });

  test("ListCost is the unit price times the quantity without rounding, and the cost of a line is that in cents", () => {
    fc.assert(
      fc.property(anyInvoice, ({ lines, invoice: issued }) => {
        const net = [...toInvoiceRows({ invoice: { ...issued, vatCents: 0n }, lines })];
        for (const row of net)
          expect(scaled(row.ListCost, 18)).toBe(
            scaled(row.ListUnitPrice, 6) * scaled(row.PricingQuantity, 12),
          );
        for (const row of net.filter(({ ChargeClass }) => ChargeClass === null)) {
          const difference = scaled(row.ListCost, 18) - scaled(row.BilledCost, 18);
          // Half a cent, and what 12 decimals of a quantity leave of a price, which is at most 100 EUR here.
          const allowed = 5n * 10n ** 15n + 10n ** 8n;
          expect(difference < 0n ? -difference : difference).toBeLessThanOrEqual(allowed);
        }
      }),
      { numRuns: 100 },
    );
  });

  test("every charge that corrects nothing lies in its billing period, and every period is of whole days", () => {
    fc.assert(
      fc.property(anyInvoice, (one) => {
        for (const row of toInvoiceRows(one)) {
          const times = [
            row.ChargePeriodStart,
            row.ChargePeriodEnd,
            row.BillingPeriodStart,
            row.BillingPeriodEnd,
          ];
          for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT00:00:00Z$/);
          const [start = "", end = "", from = "", to = ""] = times.map((time) => time ?? "");
          expect(start < end).toBe(true);
          expect(row.ChargeClass === "Correction" ? end <= from : from <= start && end <= to).toBe(true);
        }
      }),
      { numRuns: 100 },
    );
  });
});

test("lines without a document have no number", () => {
  const { orgId } = invoice;
  const billed = { orgId, accountName: "acme", providerName: "Marina", documentNumber: null };
  const [row] = toLineRows({ ...billed, billingPeriod: monthOfPeriod("2026-10-01") }, [aLine()]);
  expect(row).toMatchObject({ x_DocumentNumber: null, ProviderName: "Marina", BillingAccountName: "acme" });
});

function sumOf(rows: readonly FocusRow[], column: "BilledCost" | "EffectiveCost" | "ContractedCost"): bigint {
  return rows.reduce((sum, row) => sum + scaled(row[column], 2), 0n);
}

/** A decimal in units of its last decimal. */
function scaled(decimal: string | null | undefined, decimals: number): bigint {
  const [, sign = "", whole = "", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimal ?? "") ?? [];
  return BigInt(`${sign}${whole}${fraction.padEnd(decimals, "0")}`);
}

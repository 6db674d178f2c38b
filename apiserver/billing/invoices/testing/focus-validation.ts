import { beforeAll, expect, test } from "vitest";
import { ensureFocusValidator, judgeFocusCsv } from "../../../../e2e/contract/focus/focus-validator.ts";
import { monthOfPeriod } from "../../month.ts";
import { sumCents } from "../../rating/lines.ts";
import { RESOURCE_TYPES } from "../../resource-types.ts";
import type { InvoiceLine } from "../compose.ts";
import { toCreditNoteRows, toFocusCsv, toInvoiceRows, toLineRows } from "../focus.ts";
import { aLine, anInvoice } from "./documents.ts";

let programs: string;

beforeAll(async () => {
  programs = await ensureFocusValidator();
});

const domestic = { vatCase: "domestic", vatBasisPoints: 1900, vatCents: 19n } as const;
const rowsOf = (lines: InvoiceLine[]) => [
  ...toInvoiceRows({ invoice: anInvoice(sumCents(lines), domestic), lines }),
];
const everyType = [...RESOURCE_TYPES, "plan:dev" as const].map((resourceType) => aLine({ resourceType }));
const credit = toCreditNoteRows({
  ...anInvoice(100n, domestic),
  correctedPeriod: "2026-09-01",
  lines: [{ description: "vCPU", amountCents: 100n }],
});
const account = {
  orgId: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  accountName: "acme",
  providerName: "Marina",
};
const uninvoiced = { ...account, billingPeriod: monthOfPeriod("2026-10-01"), documentNumber: null };
const odd = [
  aLine({ adjustment: true, period: "2026-09-01", amountCents: -200n, unitSeconds: -86_400n }),
  aLine({ clusterId: null, clusterName: null, resourceType: "registry" }),
  aLine({ clusterName: '=cmd, "one"\r\nשלום 日本', firstDay: "2026-10-03", lastDay: "2026-10-14" }),
  aLine({ labels: { team: "web", "example.com/stage": "", number: "1" } }),
  aLine({ amountCents: 10n ** 30n, unitPriceEUR: "0.000001" }),
];

test.each([
  ["an invoice with lines of every type, and VAT", rowsOf(everyType)],
  ["an invoice with a credit note on it", [...rowsOf(everyType), ...credit]],
  [
    "adjustments, names of any characters, labels, no cluster, and large amounts",
    rowsOf([...everyType, ...odd]),
  ],
  ["a month with a credit note alone", credit],
  ["a month without an invoice", toLineRows(uninvoiced, everyType)],
])("%s is valid", async (_what, rows) => {
  expect(await judgeFocusCsv(programs, toFocusCsv(rows))).toBe("Validation succeeded.");
});

test.each([
  ["BilledCost_NotNull", { BilledCost: null }],
  ["BillingCurrency_IsCurrencyCode", { BillingCurrency: "EURO" }],
  ["ServiceCategory_Enum", { ServiceCategory: "Kubernetes" }],
  ["Tags_IsJSONObject", { Tags: "[]" }],
])("the validator refuses a file by its rule %s", async (rule, fault) => {
  const rows = rowsOf(everyType).map((row) => ({ ...row, ...fault }));
  expect(await judgeFocusCsv(programs, toFocusCsv(rows))).toContain(`${rule} failed`);
});

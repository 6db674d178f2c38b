import { z } from "@hono/zod-openapi";
import { MAX_READ_BYTES } from "../../http/contract/byte-budget.ts";
import { countField, idField, textField, timestampField } from "../../http/contract/fields.ts";
import type { FileForm } from "../../http/contract/operation.ts";
import { pageQuery, pageSchema } from "../../http/contract/page.ts";
import {
  centsField,
  currencyField,
  decimalField,
  meteredTypeField,
  monthField,
  monthSchema,
} from "../fields-schema.ts";
import { monthOfPeriod } from "../month.ts";
import { FOCUS_CSV, toFocusCsv, toLineRows } from "./focus.ts";
import { WAITING_REASONS } from "./table.ts";
import { VAT_CASES } from "./vat.ts";

/** The lines of an invoice that one response has: with the longest names they have less than 16 MiB in JSON. */
export const MAX_LINES = 10_000;
/** The last position that a line can have. */
export const MAX_LINES_TOTAL = 2_147_483_647;
const MAX_NUMBER_LENGTH = 32;
const MAX_TEXT_LENGTH = 254;

const SUMMARY = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e14",
  org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  number: "INV-2026-000042",
  month: "2026-10",
  period_start: "2026-10-01T00:00:00.000Z",
  period_end: "2026-11-01T00:00:00.000Z",
  issued_at: "2026-11-01T06:00:00.000Z",
  currency: "EUR" as const,
  amount_cents: 48_012,
  vat_case: "domestic" as const,
  vat_rate_percent: "19.00",
  vat_cents: 9122,
  total_cents: 57_134,
  credited_cents: 1000,
  credited_total_cents: 1190,
};

/** The amounts of an invoice or a credit note. */
export const vatFields = {
  amount_cents: centsField("The sum of its lines, net.", SUMMARY.amount_cents),
  vat_case: z.enum(VAT_CASES).openapi({
    description:
      "domestic: the supplier's country. reverse_charge: the buyer accounts for the VAT. eu_consumer: the rate of another country of the European Union. outside_eu: none.",
  }),
  vat_rate_percent: decimalField("The rate of VAT.", SUMMARY.vat_rate_percent),
  vat_cents: centsField("VAT on the net amount.", SUMMARY.vat_cents),
  total_cents: centsField("The net amount and the VAT.", SUMMARY.total_cents),
};

const summary = {
  id: idField("The invoice."),
  org_id: idField("The organization."),
  number: textField(MAX_NUMBER_LENGTH, "Without a gap within the year of issue.", SUMMARY.number),
  month: monthField("The month that is invoiced."),
  period_start: timestampField("The first instant of the month."),
  period_end: timestampField("The first instant after the month."),
  issued_at: timestampField("When it was issued."),
  currency: currencyField,
  ...vatFields,
  credited_cents: centsField("What credit notes have given back so far, net.", SUMMARY.credited_cents),
  credited_total_cents: centsField("The same with its VAT.", SUMMARY.credited_total_cents),
};

const invoiceSummary = z.object(summary).openapi("InvoiceSummary", { example: SUMMARY });

export const invoicePage = pageSchema(invoiceSummary, "InvoicePage");

const EXAMPLE_LINE = {
  month: "2026-10",
  adjustment: false,
  cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  cluster_name: "production",
  resource_type: "vcpu",
  unit_price_eur: "5.000000",
  unit_seconds: "10713600",
  amount_cents: 2000,
  first_day: "2026-10-01",
  last_day: "2026-10-31",
};

const EXAMPLE_CHARGES = toLineRows(
  {
    orgId: SUMMARY.org_id,
    accountName: "Example Ltd",
    providerName: "Marina Cloud GmbH",
    billingPeriod: monthOfPeriod("2026-10-01"),
    documentNumber: SUMMARY.number,
  },
  [
    {
      period: "2026-10-01",
      adjustment: false,
      clusterId: EXAMPLE_LINE.cluster_id,
      clusterName: EXAMPLE_LINE.cluster_name,
      resourceType: "vcpu",
      unitPriceEUR: EXAMPLE_LINE.unit_price_eur,
      unitSeconds: BigInt(EXAMPLE_LINE.unit_seconds),
      amountCents: BigInt(EXAMPLE_LINE.amount_cents),
      firstDay: EXAMPLE_LINE.first_day,
      lastDay: EXAMPLE_LINE.last_day,
    },
  ],
);

/** Charges in the columns of FOCUS 1.0. */
export const focusForm: FileForm = {
  mediaType: FOCUS_CSV,
  description:
    "One row for each line with the days of its price, for its VAT, and for each line of a credit note, in the columns of FOCUS 1.0.",
  maxLength: MAX_READ_BYTES,
  example: toFocusCsv(EXAMPLE_CHARGES),
};

const dayField = (description: string) =>
  textField(10, `${description} YYYY-MM-DD, in UTC.`, EXAMPLE_LINE.first_day).nullable();

const invoiceLine = z
  .object({
    month: monthField("The month that was used."),
    adjustment: z.boolean().openapi({ description: "Whether it corrects an earlier invoice." }),
    cluster_id: idField("The cluster; null: storage of the organization.").nullable(),
    cluster_name: textField(MAX_TEXT_LENGTH, "Its name.").nullable(),
    resource_type: meteredTypeField,
    unit_price_eur: decimalField("For one unit and the whole month, net.", EXAMPLE_LINE.unit_price_eur),
    unit_seconds: decimalField("Quantity times seconds.", EXAMPLE_LINE.unit_seconds),
    amount_cents: centsField("Net.", EXAMPLE_LINE.amount_cents),
    first_day: dayField("The first day of the month on which it was charged at this price; null: not known."),
    last_day: dayField("The last such day."),
  })
  .openapi("InvoiceLine", { example: EXAMPLE_LINE });

export const invoiceLinePage = pageSchema(invoiceLine, "InvoiceLinePage");

const text = (description: string, example?: string) => textField(MAX_TEXT_LENGTH, description, example);

export const EXAMPLE_PARTY = {
  name: "Example Ltd",
  street: "Main Street 1",
  postal_code: "10115",
  city: "Berlin",
  country: "DE",
  vat_id: "DE123456789",
  tax_number: null,
  email: "billing@example.com",
};

export const party = z
  .object({
    name: text("The legal name."),
    street: text("Street and number.").nullable(),
    postal_code: text("Postal code.").nullable(),
    city: text("City.").nullable(),
    country: textField(2, "ISO 3166-1 alpha-2.", "DE"),
    vat_id: text("The VAT identification number.").nullable(),
    tax_number: text("Another tax number.").nullable(),
    email: text("Where invoices go.").nullable(),
  })
  .openapi("InvoiceParty", { example: EXAMPLE_PARTY });

export const invoiceRecord = z
  .object({
    ...summary,
    supplier: party.openapi({ description: "Who issued it, as of then." }),
    buyer: party.openapi({ description: "Who it is for, as of then." }),
    buyer_reference: text("What the buyer wanted to see on its invoices.").nullable(),
    purchase_order: text("The number of the buyer's purchase order.").nullable(),
    lines_total: countField(MAX_LINES_TOTAL, "How many lines it has.", 1),
    lines: z
      .array(invoiceLine)
      .max(MAX_LINES)
      .nullable()
      .openapi({
        description: `Its lines, in order; null where it has more than ${MAX_LINES}: then \`GET .../lines\` has them, page by page.`,
      }),
  })
  .openapi("Invoice", {
    example: {
      ...SUMMARY,
      supplier: EXAMPLE_PARTY,
      buyer: EXAMPLE_PARTY,
      buyer_reference: "Department 7",
      purchase_order: "PO-2026-1234",
      lines_total: 1,
      lines: [EXAMPLE_LINE],
    },
  });

const waitingReason = z.enum(WAITING_REASONS).openapi({
  description:
    "billing_profile_incomplete: the organization has given no name or no country of ISO 3166-1. invoicing_not_configured: the platform has no supplier. code_not_official: the electronic invoice would have a code that is not in its official list; the log names the field.",
});

const EXAMPLE_WAITING = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e15",
  org_id: SUMMARY.org_id,
  month: SUMMARY.month,
  reason: "billing_profile_incomplete" as const,
  amount_cents: SUMMARY.amount_cents,
  since: SUMMARY.issued_at,
};

const waitingInvoice = z
  .object({
    id: idField("Of the entry."),
    org_id: idField("The organization."),
    month: monthField("The month to be invoiced."),
    reason: waitingReason,
    amount_cents: centsField("What it amounts to, net.", EXAMPLE_WAITING.amount_cents),
    since: timestampField("When the month was first closed."),
  })
  .openapi("WaitingInvoice", { example: EXAMPLE_WAITING });

export const waitingInvoicePage = pageSchema(waitingInvoice, "WaitingInvoicePage");

export const closeQuery = pageQuery.extend({
  month: monthSchema.optional().openapi({
    description: "The month to close, which has ended; the one before the current month by default.",
  }),
  dry_run: z
    .enum(["true", "false"])
    .default("false")
    .transform((given) => given === "true")
    .openapi({
      type: "boolean",
      default: false,
      description: "Says what a close would come to, page by page, and changes nothing.",
    }),
});

const EXAMPLE_OUTCOME = {
  org_id: SUMMARY.org_id,
  outcome: "due" as const,
  reason: null,
  amount_cents: SUMMARY.amount_cents,
};

const closeOutcome = z
  .object({
    org_id: idField("The organization."),
    outcome: z.enum(["due", "waiting", "already_issued", "nothing"]).openapi({
      description:
        "An invoice would be issued, or has to wait, or was issued before, or nothing is to be invoiced.",
    }),
    reason: waitingReason.nullable().openapi({ description: "Why it has to wait." }),
    amount_cents: centsField("Net.", EXAMPLE_OUTCOME.amount_cents).nullable(),
  })
  .openapi("CloseOutcome", { example: EXAMPLE_OUTCOME });

export const closeRecord = z
  .object({
    month: monthField("The month."),
    requested_at: timestampField("When the close was asked for."),
  })
  .openapi("MonthClose", { example: { month: SUMMARY.month, requested_at: SUMMARY.issued_at } });

const { items, next_cursor: nextCursor } = pageSchema(closeOutcome, "CloseOutcomePage").shape;

export const dryCloseRecord = z
  .object({ month: monthField("The month."), items, next_cursor: nextCursor })
  .openapi("DryClose", {
    description: "Every organization that used anything in the month or in the two before it, by id.",
    example: { month: SUMMARY.month, items: [EXAMPLE_OUTCOME], next_cursor: null },
  });

import { z } from "@hono/zod-openapi";
import { text, wholeNumber } from "../../../shared/crd/fields.ts";
import { idField, textField, timestampField } from "../../http/contract/fields.ts";
import { pageSchema } from "../../http/contract/page.ts";
import { idSchema } from "../../http/contract/validate.ts";
import { centsField, currencyField } from "../fields-schema.ts";
import { EXAMPLE_PARTY, party, vatFields } from "../invoices/schema.ts";

const MAX_LINES = 100;
const MAX_NUMBER_LENGTH = 40;
const MAX_REASON_LENGTH = 1000;
const MAX_DESCRIPTION_LENGTH = 254;
/** The longest texts of a hundred lines, each character of which may be written as six (`&quot;`). */
export const MAX_XML_LENGTH = 524_288;
/** Ten billion EUR: the sum of all lines is exact as a number of JSON. */
const MAX_LINE_CENTS = 1_000_000_000_000;

const EXAMPLE_LINE = { description: "vCPU of 14 October", amount_cents: 2000 };
const EXAMPLE_BODY = {
  invoice_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e14",
  reason: "The control plane could not be reached for 6 hours.",
  lines: [EXAMPLE_LINE],
};
const SUMMARY = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e16",
  org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  invoice_id: EXAMPLE_BODY.invoice_id,
  number: "INV-CN-2026-000003",
  issued_at: "2026-11-14T09:30:00.000Z",
  reason: EXAMPLE_BODY.reason,
  currency: "EUR" as const,
  amount_cents: 2000,
  vat_case: "domestic" as const,
  vat_rate_percent: "19.00",
  vat_cents: 380,
  total_cents: 2380,
};

const summary = {
  id: idField("The credit note."),
  org_id: idField("The organization."),
  invoice_id: idField("The invoice that it corrects."),
  number: textField(MAX_NUMBER_LENGTH, "Without a gap within the year of issue.", SUMMARY.number),
  issued_at: timestampField("When it was issued."),
  reason: textField(MAX_REASON_LENGTH, "Why it was issued."),
  currency: currencyField,
  ...vatFields,
};

const creditNoteSummary = z.object(summary).openapi("CreditNoteSummary", {
  description: "Amounts are what the buyer gets back; VAT is that of the invoice.",
  example: SUMMARY,
});

export const creditNotePage = pageSchema(creditNoteSummary, "CreditNotePage");

const creditNoteLine = z
  .object({
    description: textField(MAX_DESCRIPTION_LENGTH, "What is given back.", EXAMPLE_LINE.description),
    amount_cents: centsField("Net.", EXAMPLE_LINE.amount_cents),
  })
  .openapi("CreditNoteLine", { example: EXAMPLE_LINE });

export const creditNoteRecord = z
  .object({
    ...summary,
    supplier: party.openapi({ description: "Who issued the invoice, as of then." }),
    buyer: party.openapi({ description: "Who the invoice is for, as of then." }),
    lines: z.array(creditNoteLine).max(MAX_LINES).openapi({ description: "Its lines, in order." }),
  })
  .openapi("CreditNote", {
    example: { ...SUMMARY, supplier: EXAMPLE_PARTY, buyer: EXAMPLE_PARTY, lines: [EXAMPLE_LINE] },
  });

export const createCreditNoteBody = z
  .strictObject({
    invoice_id: idSchema.openapi({ description: "An invoice of the organization." }),
    reason: text(1, MAX_REASON_LENGTH, "Why it is issued."),
    lines: z
      .array(
        z.strictObject({
          description: text(1, MAX_DESCRIPTION_LENGTH, "What is given back."),
          amount_cents: wholeNumber(1, MAX_LINE_CENTS).openapi({ description: "Net." }),
        }),
      )
      .min(1)
      .max(MAX_LINES)
      .openapi({ description: "Together with earlier credit notes at most what the invoice amounts to." }),
  })
  .openapi("CreateCreditNote", { example: EXAMPLE_BODY });

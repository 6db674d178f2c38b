import { z } from "@hono/zod-openapi";
import { defineEvent } from "../events/event-types.ts";
import { idField, timestampField } from "../http/contract/fields.ts";

const MAX_CENTS = Number.MAX_SAFE_INTEGER;
const MAX_EUR = Number.MAX_VALUE;
const MAX_THRESHOLD_PCT = 1_000_000;

const eur = (description: string) => z.number().min(0).max(MAX_EUR).openapi({ description });

const usageAlertData = z
  .object({
    budget_eur: eur("The budget of a month, net, in euro."),
    spend_eur: eur("The spend of the month so far, net, in euro."),
    threshold_pct: z
      .number()
      .min(0)
      .max(MAX_THRESHOLD_PCT)
      .openapi({ description: "The threshold that was reached, in percent." }),
    billing_month: z
      .string()
      .max(7)
      .regex(/^[0-9]{4}-(0[1-9]|1[0-2])$/)
      .openapi({ description: "The month, in UTC." }),
  })
  .openapi("UsageAlertData", { description: "The data of a `usage.alert` event." });

const invoiceGeneratedData = z
  .object({
    invoice_id: idField("The invoice."),
    amount_cents: z.int().min(-MAX_CENTS).max(MAX_CENTS).openapi({ description: "Its total, in cents." }),
    currency: z.literal("EUR").openapi({ description: "The currency of the total." }),
    period_start: timestampField("The beginning of the month, in UTC."),
    period_end: timestampField("The beginning of the next month, in UTC."),
  })
  .openapi("InvoiceGeneratedData", { description: "The data of an `invoice.generated` event." });

export const usageAlert = defineEvent({
  type: "usage.alert",
  description: "The spend of a month has reached a threshold of the organization's budget.",
  data: usageAlertData,
  example: { budget_eur: 500, spend_eur: 400.12, threshold_pct: 80, billing_month: "2026-11" },
});

export const invoiceGenerated = defineEvent({
  type: "invoice.generated",
  description: "The invoice of a month was issued.",
  data: invoiceGeneratedData,
  example: {
    invoice_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e14",
    amount_cents: 48_012,
    currency: "EUR",
    period_start: "2026-10-01T00:00:00.000Z",
    period_end: "2026-11-01T00:00:00.000Z",
  },
});

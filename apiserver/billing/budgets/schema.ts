import { z } from "@hono/zod-openapi";
import { idField, immutableField, readOnlyField, timestampField } from "../../http/contract/fields.ts";
import { idSchema } from "../../http/contract/validate.ts";
import { KEPT_DECIMALS, MAX_EUROS } from "../fields-schema.ts";

/** More than 0, with 6 decimals. */
const MIN_LIMIT_EUR = 0.000_001;
const MAX_THRESHOLDS = 100;

const EXAMPLE_SETTINGS = { monthly_limit_eur: 500, thresholds_pct: [50, 80, 100] };
const LIMIT = "The most that a month is meant to cost, in EUR, net. Nothing is stopped when it is reached.";
const THRESHOLDS =
  "Percentages of the limit, strictly ascending: reaching one sends `usage.alert` once in a month.";

const threshold = () => z.int().min(1).max(100);

export const budgetRecord = z
  .object({
    org_id: idField("The organization."),
    monthly_limit_eur: z
      .number()
      .min(MIN_LIMIT_EUR)
      .max(MAX_EUROS)
      .openapi({ format: "double", description: LIMIT }),
    thresholds_pct: z.array(threshold()).min(1).max(MAX_THRESHOLDS).openapi({ description: THRESHOLDS }),
    created_at: timestampField("When the organization got a budget."),
    updated_at: timestampField("When the budget was last set."),
  })
  .openapi("Budget", {
    example: {
      org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
      ...EXAMPLE_SETTINGS,
      created_at: "2026-11-21T09:00:00.000Z",
      updated_at: "2026-11-21T09:00:00.000Z",
    },
  });

/** What a GET returns may be sent back. */
export const setBudgetBody = z
  .strictObject({
    monthly_limit_eur: z
      .number()
      .min(Number.MIN_VALUE, { error: "must be more than 0" })
      .max(MAX_EUROS)
      .openapi({ format: "double", description: `${LIMIT} ${KEPT_DECIMALS}` }),
    thresholds_pct: z
      .array(threshold())
      .min(1)
      .max(MAX_THRESHOLDS)
      .superRefine((thresholds, context) => {
        for (const [index, pct] of thresholds.entries()) {
          if (index === 0 || pct > (thresholds[index - 1] ?? 0)) continue;
          const params = { code: "not_ascending" };
          const message = "must be more than the entry before it";
          context.addIssue({ code: "custom", path: [index], message, params });
        }
      })
      .openapi({ description: THRESHOLDS }),
    org_id: immutableField(idSchema),
    created_at: readOnlyField,
    updated_at: readOnlyField,
  })
  .openapi("SetBudget", { example: EXAMPLE_SETTINGS });

import type { z } from "@hono/zod-openapi";
import { toEuros } from "../money.ts";
import type { budgetRecord } from "./schema.ts";
import type { Budget } from "./store.ts";

/** The wire form of a budget. */
export function presentBudget(budget: Budget): z.output<typeof budgetRecord> {
  return {
    org_id: budget.orgId,
    monthly_limit_eur: toEuros(budget.limitMicroEuros),
    thresholds_pct: [...budget.thresholdsPct],
    created_at: budget.createdAt.toISOString(),
    updated_at: budget.updatedAt.toISOString(),
  };
}

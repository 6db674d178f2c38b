import { recordAudit } from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import type { Author } from "../../http/authentication/principal.ts";
import { versionTag } from "../../http/contract/etag.ts";
import { toEuros } from "../money.ts";
import { type Budget, type BudgetSettings, markBudgetDeleted, upsertBudget } from "./store.ts";

/** The entity tag of a budget that is not deleted. */
export function budgetTag(budget: Budget | undefined): string | undefined {
  return budget?.deletedAt === null ? versionTag(budget.version) : undefined;
}

/** Creates the budget of an organization or replaces it outright. */
export async function setBudget(
  tx: Queryable,
  author: Author,
  { orgId, kept, now }: { orgId: string; kept: Budget | undefined; now: Date },
  settings: BudgetSettings,
): Promise<Budget> {
  const before = kept?.deletedAt === null ? kept : undefined;
  const after: Budget = {
    ...settings,
    orgId,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
    deletedAt: null,
    nextCheckAt: now,
    version: (kept?.version ?? 0) + 1,
  };
  await upsertBudget(tx, after);
  await recordChange(tx, author, orgId, { action: "budget.set", before, after });
  return after;
}

/** Deletes the budget of an organization. */
export async function deleteBudget(
  tx: Queryable,
  author: Author,
  { before, now }: { before: Budget; now: Date },
): Promise<void> {
  await markBudgetDeleted(tx, before, now);
  await recordChange(tx, author, before.orgId, { action: "budget.delete", before, after: undefined });
}

async function recordChange(
  tx: Queryable,
  author: Author,
  orgId: string,
  { action, before, after }: { action: string; before: Budget | undefined; after: Budget | undefined },
): Promise<void> {
  await recordAudit(tx, author, {
    action,
    orgId,
    target: { kind: "budget", id: orgId },
    ...(before !== undefined && { before: auditBudget(before) }),
    ...(after !== undefined && { after: auditBudget(after) }),
    result: "done",
  });
}

function auditBudget({ limitMicroEuros, thresholdsPct }: BudgetSettings) {
  return { monthly_limit_eur: toEuros(limitMicroEuros), thresholds_pct: thresholdsPct };
}

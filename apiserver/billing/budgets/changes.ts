import { recordAudit } from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import type { Origin } from "../../http/authentication/principal.ts";
import { type Preconditions, requireMatch, versionTag } from "../../http/contract/etag.ts";
import { ApiError } from "../../http/errors.ts";
import { lockOrganization } from "../../organizations/index.ts";
import { toEuros } from "../money.ts";
import {
  type Budget,
  type BudgetSettings,
  findBudget,
  markBudgetDeleted,
  requireBudget,
  upsertBudget,
} from "./store.ts";

export interface BudgetTarget {
  orgId: string;
  preconditions: Preconditions;
  now: Date;
}

/** Creates the budget of an organization or replaces it outright. Throws 404 and 412. */
export async function setBudget(
  tx: Queryable,
  origin: Origin,
  { orgId, preconditions, now }: BudgetTarget,
  settings: BudgetSettings,
): Promise<Budget> {
  await lockOrganization(tx, orgId);
  const kept = await findBudget(tx, orgId);
  const before = kept?.deletedAt === null ? kept : undefined;
  requireVersion(preconditions, before);
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
  await recordChange(tx, origin, orgId, { action: "budget.set", before, after });
  return after;
}

/** Deletes the budget of an organization. Throws 404 and 412. */
export async function deleteBudget(
  tx: Queryable,
  origin: Origin,
  { orgId, preconditions, now }: BudgetTarget,
): Promise<void> {
  await lockOrganization(tx, orgId);
  const before = await requireBudget(tx, orgId);
  requireVersion(preconditions, before);
  await markBudgetDeleted(tx, before, now);
  await recordChange(tx, origin, orgId, { action: "budget.delete", before, after: undefined });
}

function requireVersion(preconditions: Preconditions, before: Budget | undefined): void {
  if (before !== undefined) requireMatch(preconditions, versionTag(before.version));
  else if (preconditions.ifMatch !== undefined)
    throw new ApiError("precondition_failed", "The organization has no budget.");
}

async function recordChange(
  tx: Queryable,
  origin: Origin,
  orgId: string,
  { action, before, after }: { action: string; before: Budget | undefined; after: Budget | undefined },
): Promise<void> {
  await recordAudit(tx, origin, {
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

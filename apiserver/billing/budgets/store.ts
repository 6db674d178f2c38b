import { and, eq } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { ApiError } from "../../http/errors.ts";
import { formatMicroEuros, parseMicroEuros } from "../money.ts";
import { budgets } from "./table.ts";

export interface BudgetSettings {
  limitMicroEuros: bigint;
  /** Percentages of the limit, strictly ascending. */
  thresholdsPct: readonly number[];
}

/** A budget, or what is kept of a deleted one. */
export interface Budget extends BudgetSettings {
  orgId: string;
  createdAt: Date;
  updatedAt: Date;
  deletedAt: Date | null;
  /** When the spend is to be compared with the thresholds; null for a deleted budget. */
  nextCheckAt: Date | null;
  version: number;
}

/** The budget of an organization, also a deleted one; undefined if it never had one. */
export async function findBudget(db: Queryable, orgId: string): Promise<Budget | undefined> {
  const [row] = await db.select().from(budgets).where(eq(budgets.orgId, orgId));
  if (row === undefined) return undefined;
  return toBudget(row);
}

/** A budget of its row. */
export function toBudget({ monthlyLimitEUR, ...others }: typeof budgets.$inferSelect): Budget {
  return { ...others, limitMicroEuros: parseMicroEuros(monthlyLimitEUR) };
}

/** The budget of an organization. Throws 404 without one. */
export async function requireBudget(db: Queryable, orgId: string): Promise<Budget> {
  const budget = await findBudget(db, orgId);
  if (budget === undefined || budget.deletedAt !== null)
    throw new ApiError("not_found", "The organization has no budget.");
  return budget;
}

/** Writes the whole budget of an organization. */
export async function upsertBudget(tx: Queryable, budget: Budget): Promise<void> {
  const { orgId, limitMicroEuros, thresholdsPct, ...others } = budget;
  const set = {
    ...others,
    monthlyLimitEUR: formatMicroEuros(limitMicroEuros),
    thresholdsPct: [...thresholdsPct],
  };
  await tx
    .insert(budgets)
    .values({ orgId, ...set })
    .onConflictDoUpdate({ target: budgets.orgId, set });
}

/** Marks one version of the budget of an organization as deleted. */
export async function markBudgetDeleted(
  tx: Queryable,
  { orgId, version }: Budget,
  deletedAt: Date,
): Promise<void> {
  await tx
    .update(budgets)
    .set({ deletedAt, updatedAt: deletedAt, nextCheckAt: null, version: version + 1 })
    .where(and(eq(budgets.orgId, orgId), eq(budgets.version, version)));
}

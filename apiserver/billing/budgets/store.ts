import { and, eq, inArray, isNotNull, type SQL, sql } from "drizzle-orm";
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

/** Has the spend of these organizations compared in the next round: their usage has changed. */
export async function markDue(tx: Queryable, orgIds: readonly string[], now: Date): Promise<void> {
  if (orgIds.length > 0) await mark(tx, inArray(budgets.orgId, [...orgIds]), now);
}

/** Has the spend of every organization compared in the next round: prices have changed. */
export async function markAllDue(tx: Queryable, now: Date): Promise<void> {
  await mark(tx, sql`true`, now);
}

/**
 * A budget that is due already is locked and written too: a round that compares it during this transaction does not see
 * the change, and sets a later time. Rows are locked in the order of their ids, so that two changes never deadlock.
 */
async function mark(tx: Queryable, which: SQL, now: Date): Promise<void> {
  await tx.execute(sql`with locked as (
      select org_id from ${budgets} where ${which} and ${isNotNull(budgets.nextCheckAt)}
      order by org_id for update
    )
    update ${budgets} set next_check_at = least(${budgets.nextCheckAt}, ${now.toISOString()}::timestamptz)
    from locked where ${budgets.orgId} = locked.org_id`);
}

import { and, asc, eq, lte } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { type Budget, toBudget } from "../budgets/store.ts";
import { budgetAlerts, budgets } from "../budgets/table.ts";

/** Organizations whose spend is to be compared, the longest waiting first. */
export async function listDueBudgets(db: Queryable, now: Date, limit: number): Promise<string[]> {
  const rows = await db
    .select({ orgId: budgets.orgId })
    .from(budgets)
    .where(lte(budgets.nextCheckAt, now))
    .orderBy(asc(budgets.nextCheckAt))
    .limit(limit);
  return rows.map(({ orgId }) => orgId);
}

/** Locks a budget that is due until the end of the transaction; undefined for one that is not, or no longer. */
export async function lockDueBudget(tx: Queryable, orgId: string, now: Date): Promise<Budget | undefined> {
  const [row] = await tx
    .select()
    .from(budgets)
    .where(and(eq(budgets.orgId, orgId), lte(budgets.nextCheckAt, now)))
    .for("update");
  return row && toBudget(row);
}

/** Thresholds that have fired in a month. */
export async function listFired(tx: Queryable, orgId: string, month: string): Promise<Set<number>> {
  const rows = await tx
    .select({ pct: budgetAlerts.thresholdPct })
    .from(budgetAlerts)
    .where(and(eq(budgetAlerts.orgId, orgId), eq(budgetAlerts.month, month)));
  return new Set(rows.map(({ pct }) => pct));
}

/** Notes that thresholds have fired. */
export async function insertFired(
  tx: Queryable,
  alerts: readonly (typeof budgetAlerts.$inferInsert)[],
): Promise<void> {
  if (alerts.length > 0) await tx.insert(budgetAlerts).values([...alerts]);
}

/** Sets when the spend of an organization is compared next. */
export async function scheduleCheck(tx: Queryable, orgId: string, at: Date): Promise<void> {
  await tx.update(budgets).set({ nextCheckAt: at }).where(eq(budgets.orgId, orgId));
}

import { and, asc, eq, gt, inArray, lte, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { type Budget, toBudget } from "../budgets/store.ts";
import { budgetAlerts, budgets } from "../budgets/table.ts";

/** Organizations whose spend is to be compared, ordered by id. */
export async function listDueBudgets(
  db: Queryable,
  now: Date,
  { cursor, limit }: { cursor: string; limit: number },
): Promise<string[]> {
  const rows = await db
    .select({ orgId: budgets.orgId })
    .from(budgets)
    .where(and(lte(budgets.nextCheckAt, now), gt(budgets.orgId, cursor)))
    .orderBy(asc(budgets.orgId))
    .limit(limit);
  return rows.map(({ orgId }) => orgId);
}

/**
 * Locks those of these budgets that are due until the end of the transaction. One that another transaction has locked
 * is left out: it is being changed, or compared already.
 */
export async function lockDueBudgets(tx: Queryable, orgIds: readonly string[], now: Date): Promise<Budget[]> {
  const rows = await tx
    .select()
    .from(budgets)
    .where(and(inArray(budgets.orgId, [...orgIds]), lte(budgets.nextCheckAt, now)))
    .for("update", { skipLocked: true });
  return rows.map(toBudget);
}

/** Thresholds that have fired in a month, by organization. */
export async function listFired(
  tx: Queryable,
  orgIds: readonly string[],
  month: string,
): Promise<Map<string, Set<number>>> {
  const rows = await tx
    .select({ orgId: budgetAlerts.orgId, pct: budgetAlerts.thresholdPct })
    .from(budgetAlerts)
    .where(and(inArray(budgetAlerts.orgId, [...orgIds]), eq(budgetAlerts.month, month)));
  const fired = new Map(orgIds.map((orgId) => [orgId, new Set<number>()]));
  for (const { orgId, pct } of rows) fired.get(orgId)?.add(pct);
  return fired;
}

/** Notes that thresholds have fired. */
export async function insertFired(
  tx: Queryable,
  alerts: readonly (typeof budgetAlerts.$inferInsert)[],
): Promise<void> {
  if (alerts.length === 0) return;
  const rows = alerts.map((alert) => ({ ...alert, spendCents: String(alert.spendCents) }));
  await tx.execute(sql`insert into ${budgetAlerts} (org_id, month, threshold_pct, spend_cents, fired_at)
    select "orgId", month, "thresholdPct", "spendCents", "firedAt"
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as fired ("orgId" uuid, month text, "thresholdPct" integer, "spendCents" numeric, "firedAt" timestamptz)`);
}

/** Sets when the spend of each organization is compared next. */
export async function scheduleChecks(
  tx: Queryable,
  checks: readonly { orgId: string; nextAt: Date }[],
): Promise<void> {
  await tx.execute(sql`update ${budgets} set next_check_at = planned."nextAt"
    from json_to_recordset(${JSON.stringify(checks)}::text::json) as planned ("orgId" uuid, "nextAt" timestamptz)
    where ${budgets.orgId} = planned."orgId"`);
}

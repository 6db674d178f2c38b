import { and, gt, inArray } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { budgets } from "./table.ts";

/** Has the spend of these organizations compared in the next round: their usage has changed. */
export async function markDue(tx: Queryable, orgIds: readonly string[], now: Date): Promise<void> {
  if (orgIds.length === 0) return;
  await tx
    .update(budgets)
    .set({ nextCheckAt: now })
    .where(and(inArray(budgets.orgId, [...orgIds]), gt(budgets.nextCheckAt, now)));
}

/** The same for every organization: prices have changed. */
export async function markAllDue(tx: Queryable, now: Date): Promise<void> {
  await tx.update(budgets).set({ nextCheckAt: now }).where(gt(budgets.nextCheckAt, now));
}

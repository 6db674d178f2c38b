import { inArray, isNotNull, type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { budgets } from "./table.ts";

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

import { sql } from "drizzle-orm";
import type { Database, Queryable } from "../../db/client.ts";
import { organizations } from "../../organizations/index.ts";
import { projectedClusters, projectedNodePools } from "../../resources/project/table.ts";
import { lockLedger } from "./ledger-store.ts";
import { usageFigures, usageIntervals, usageSources } from "./table.ts";

/** After an organization is deleted its storage may report figures until its Namespace is deleted. */
const FIGURE_DAYS = 30;

/**
 * Deletes what the ledger has noted of objects that nothing can be seen of any more: versions of Clusters and NodePools of
 * which the projection keeps not even a tombstone, and the times of figures of organizations deleted long ago. The ledger
 * and its evidence stay unchanged: neither is made from these notes.
 */
export async function purgeNotes(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    await lockLedger(tx);
    await deleteSources(tx);
    await deleteFigures(tx);
  });
}

async function deleteSources(tx: Queryable): Promise<void> {
  const isGone = (table: typeof projectedClusters | typeof projectedNodePools) =>
    sql`not exists (select from ${table} as seen where seen.uid = ${usageSources}.uid)`;
  await tx.delete(usageSources).where(sql`${isGone(projectedClusters)} and ${isGone(projectedNodePools)}`);
}

/** What still runs ends by the time of its figure, which therefore stays. */
async function deleteFigures(tx: Queryable): Promise<void> {
  await tx.delete(usageFigures).where(sql`exists (
      select from ${organizations} as owner where owner.id::text = ${usageFigures}.subject
        and owner.deleted_at < now() - make_interval(days => ${FIGURE_DAYS}))
    and not exists (
      select from ${usageIntervals} as running where running.subject = ${usageFigures}.subject and running.ended_at is null)`);
}

import { and, isNotNull, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import { purgeAudited } from "./audit-versions.ts";
import { nameReservations, projectedClusters, projectedNodePools } from "./table.ts";

const EVERY_MS = 3_600_000;
/** No observation is that late: a watch that was closed for longer starts with a list. */
const TOMBSTONE_DAYS = 7;
/** An expired lease can be taken over immediately; the row itself is not needed. */
const LEASE_DAYS = 1;

/** Deletes old tombstones and expired name reservations. */
export function projectionJobs(deps: Pick<Deps, "db">): PeriodicJob[] {
  return [{ name: "purge-projection", everyMs: EVERY_MS, run: () => purge(deps.db) }];
}

async function purge(db: Queryable): Promise<void> {
  for (const table of [projectedClusters, projectedNodePools])
    await db
      .delete(table)
      .where(
        and(
          isNotNull(table.deletedAt),
          sql`${table.deletedAt} < now() - make_interval(days => ${TOMBSTONE_DAYS})`,
        ),
      );
  await purgeAudited(db);
  const { leasedUntil } = nameReservations;
  await db.delete(nameReservations).where(sql`${leasedUntil} < now() - make_interval(days => ${LEASE_DAYS})`);
}

import { and, isNotNull, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { PeriodicJob } from "../jobs/periodic.ts";
import { nameReservations, projectedClusters, projectedNodePools } from "./table.ts";

const EVERY_MS = 3_600_000;
/** No report of an object is that late: a watch that was away for longer begins with a list of what is there. */
const TOMBSTONE_DAYS = 7;
/** A lease that has run out can be taken over at once; the row itself is of no more use. */
const LEASE_DAYS = 1;

/** The job that removes what the projection has kept long enough: tombstones, and names that nobody came back for. */
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
  const { leasedUntil } = nameReservations;
  await db.delete(nameReservations).where(sql`${leasedUntil} < now() - make_interval(days => ${LEASE_DAYS})`);
}

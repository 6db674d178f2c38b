import { and, isNotNull, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import { purgeAudited } from "./audit-versions.ts";
import { projectedClusters, projectedNodePools } from "./table.ts";

const EVERY_MS = 3_600_000;
/** No observation is that late: a watch that was closed for longer starts with a list. */
const TOMBSTONE_DAYS = 7;
/** Usage of a month is summed up by label, and billed, for four months at the latest. */
const LABELLED_TOMBSTONE_DAYS = 130;

/** Deletes old tombstones. */
export function projectionJobs(deps: Pick<Deps, "db">): PeriodicJob[] {
  return [{ name: "purge-projection", everyMs: EVERY_MS, run: () => purge(deps.db) }];
}

async function purge(db: Queryable): Promise<void> {
  for (const table of [projectedClusters, projectedNodePools]) {
    const days = sql`case when ${table.labels} is null then ${TOMBSTONE_DAYS}::int else ${LABELLED_TOMBSTONE_DAYS}::int end`;
    await db
      .delete(table)
      .where(
        and(isNotNull(table.deletedAt), sql`${table.deletedAt} < now() - make_interval(days => ${days})`),
      );
  }
  await purgeAudited(db);
}

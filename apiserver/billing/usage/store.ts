import { and, asc, inArray, lt, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import type { UsageInterval } from "./interval.ts";
import { usageIntervals } from "./table.ts";

/**
 * The intervals of organizations, corrections included, that have a part in the half-open time from `from` to `to`: as they
 * are stored, not cut to that time. By cluster, resource type and start; with a limit, the first ones.
 */
export async function readUsageIntervals(
  db: Queryable,
  organizationIds: readonly string[],
  { from, to, limit }: { from: Date; to: Date; limit?: number | undefined },
): Promise<UsageInterval[]> {
  const { clusterId, clusterName, nodePoolId, resourceType, quantity, startedAt, endedAt } = usageIntervals;
  const query = db
    .select({
      organizationId: usageIntervals.organizationId,
      clusterId,
      clusterName,
      nodePoolId,
      resourceType,
      quantity,
      startedAt,
      endedAt,
    })
    .from(usageIntervals)
    .where(
      and(
        inArray(usageIntervals.organizationId, [...organizationIds]),
        sql`coalesce(${endedAt}, 'infinity'::timestamptz) > ${from.toISOString()}::timestamptz`,
        lt(startedAt, to),
      ),
    )
    .orderBy(asc(clusterId), asc(resourceType), asc(startedAt), asc(usageIntervals.id));
  return limit === undefined ? query : query.limit(limit);
}

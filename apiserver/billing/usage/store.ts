import { and, asc, eq, lt, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import type { UsageInterval } from "./interval.ts";
import { usageIntervals } from "./table.ts";

/**
 * The intervals of an organization, corrections included, that have a part in the half-open time from `from` to `to`: as
 * they are stored, not cut to that time. By cluster, resource type and start.
 */
export async function readUsageIntervals(
  db: Queryable,
  organizationId: string,
  from: Date,
  to: Date,
): Promise<UsageInterval[]> {
  const { clusterId, clusterName, nodePoolId, resourceType, quantity, startedAt, endedAt } = usageIntervals;
  return db
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
        eq(usageIntervals.organizationId, organizationId),
        sql`coalesce(${endedAt}, 'infinity'::timestamptz) > ${from.toISOString()}::timestamptz`,
        lt(startedAt, to),
      ),
    )
    .orderBy(asc(clusterId), asc(resourceType), asc(startedAt), asc(usageIntervals.id));
}

import { inArray, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { clusterRecords } from "../../resources/project/table.ts";
import type { UsageInterval } from "./interval.ts";
import { usageIntervals } from "./table.ts";

/** Seconds since the epoch: for 11,000 rows dates as text and drizzle's mapping of each column take as long as all else. */
interface IntervalRow
  extends Record<string, unknown>,
    Omit<UsageInterval, "quantity" | "startedAt" | "endedAt"> {
  quantity: string;
  startedAtSeconds: number;
  endedAtSeconds: number | null;
}

/**
 * The intervals of organizations, corrections included, that have a part in the half-open time from `from` to `to`: as they
 * are stored, not cut to that time, in no order. With a limit, at most so many of them. A cluster has the name that it has
 * now, whatever it was called when its use began.
 */
export async function readUsageIntervals(
  db: Queryable,
  organizationIds: readonly string[],
  { from, to, limit }: { from: Date; to: Date; limit?: number | undefined },
): Promise<UsageInterval[]> {
  const { organizationId, startedAt, endedAt } = usageIntervals;
  const rows = await db.execute<IntervalRow>(sql`
    select organization_id as "organizationId", cluster_id as "clusterId",
      coalesce(${clusterRecords.name}, cluster_name) as "clusterName",
      node_pool_id as "nodePoolId", resource_type as "resourceType", quantity,
      date_part('epoch', ${startedAt}) as "startedAtSeconds", date_part('epoch', ${endedAt}) as "endedAtSeconds"
    from ${usageIntervals}
    left join ${clusterRecords}
      on ${clusterRecords.id} = cluster_id and ${clusterRecords.orgId} = organization_id
    where ${inArray(organizationId, [...organizationIds])}
      and coalesce(${endedAt}, 'infinity'::timestamptz) > ${from.toISOString()}::timestamptz
      and ${startedAt} < ${to.toISOString()}::timestamptz
    ${limit === undefined ? sql`` : sql`limit ${limit}`}`);
  return rows.map((row) => ({
    organizationId: row.organizationId,
    clusterId: row.clusterId,
    clusterName: row.clusterName,
    nodePoolId: row.nodePoolId,
    resourceType: row.resourceType,
    quantity: BigInt(row.quantity),
    startedAt: new Date(row.startedAtSeconds * 1000),
    endedAt: row.endedAtSeconds === null ? null : new Date(row.endedAtSeconds * 1000),
  }));
}

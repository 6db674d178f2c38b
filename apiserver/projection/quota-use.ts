import { type SQL, sql } from "drizzle-orm";
import { projectedClusters, projectedNodePools } from "./table.ts";

/**
 * A query of the quota use of each object of an organization: object_id, clusters, node_pools, nodes, vcpus, memory_gb.
 * An object counts until it is deleted, however it was created.
 */
export function selectQuotaUse(orgId: string): SQL {
  return sql`
    select id as object_id, 1 as clusters, 0 as node_pools, 0 as nodes, 0 as vcpus, 0 as memory_gb
    from ${projectedClusters} where org_id = ${orgId} and deleted_at is null
    union all
    select id, 0, 1, quota_nodes, quota_vcpus, quota_memory_gb
    from ${projectedNodePools} where org_id = ${orgId} and deleted_at is null`;
}

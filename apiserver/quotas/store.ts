import { sql } from "drizzle-orm";
import type { QuotaAmounts } from "../../shared/crd/quota.ts";
import type { Queryable } from "../db/client.ts";
import { selectQuotaUse } from "../resources/project/index.ts";

/** What the organization uses, objects by kubectl and GitOps and writes under way included. */
export async function readUse(db: Queryable, orgId: string): Promise<QuotaAmounts> {
  return (await readUses(db, orgId, [])).used;
}

interface UseRow {
  object_id: string | null;
  clusters: number;
  node_pools: number;
  nodes: number;
  vcpus: number;
  memory_gb: number;
}

/** What an organization uses, in all and by each of some objects; an object that is being written counts once. */
export async function readUses(
  db: Queryable,
  orgId: string,
  objectIds: readonly string[],
): Promise<{ used: QuotaAmounts; byObject: ReadonlyMap<string, QuotaAmounts> }> {
  const rows = await db.execute<UseRow & Record<string, unknown>>(sql`
    with uses as (
      select object_id, max(clusters) as clusters, max(node_pools) as node_pools, max(nodes) as nodes,
        max(vcpus) as vcpus, max(memory_gb) as memory_gb
      from (${selectQuotaUse(orgId)}) as counted
      group by object_id
    )
    select null as object_id, coalesce(sum(clusters), 0)::float8 as clusters,
      coalesce(sum(node_pools), 0)::float8 as node_pools, coalesce(sum(nodes), 0)::float8 as nodes,
      coalesce(sum(vcpus), 0)::float8 as vcpus, coalesce(sum(memory_gb), 0)::float8 as memory_gb
    from uses
    union all
    select object_id, clusters, node_pools, nodes, vcpus, memory_gb from uses
    where object_id in (select (jsonb_array_elements_text(${JSON.stringify(objectIds)}::jsonb))::uuid)`);
  const [total, ...own] = rows;
  if (total === undefined) throw new Error("a sum returned no row");
  return {
    used: toAmounts(total),
    byObject: new Map(own.map((row) => [row.object_id ?? "", toAmounts(row)])),
  };
}

function toAmounts(row: UseRow): QuotaAmounts {
  return {
    clusters: row.clusters,
    nodePools: row.node_pools,
    nodes: row.nodes,
    vcpus: row.vcpus,
    memoryGB: row.memory_gb,
  };
}

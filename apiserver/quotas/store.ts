import { sql } from "drizzle-orm";
import {
  addAmounts,
  describeShortfalls,
  findShortfalls,
  growthOf,
  mapAmounts,
  NO_AMOUNTS,
  QUOTA_NAMES,
  type QuotaAmounts,
} from "../../shared/crd/quota.ts";
import type { Database, Queryable } from "../db/client.ts";
import { sendTogether } from "../db/statement.ts";
import { ApiError, describeExcess } from "../http/errors.ts";
import { type Quotas, readQuotas } from "../organizations/index.ts";
import { selectQuotaUse } from "../resources/project/index.ts";
import type { QuotaUse } from "./present.ts";
import { QUOTA_WIRE_NAMES, type QuotaEffect, type StoreQuotas } from "./schema.ts";

/** What one object counts before a write and after it. */
export interface ObjectAmounts {
  objectId: string;
  current: QuotaAmounts;
  desired: QuotaAmounts;
}

export interface QuotaOwner {
  orgId: string;
  /** The limits of an organization for which none are set. */
  defaults: QuotaAmounts;
}

/** Whether a write needs more of any quota. */
export function increasesUse({ current, desired }: ObjectAmounts): boolean {
  return QUOTA_NAMES.some((name) => desired[name] > current[name]);
}

/**
 * What a write means to every quota, writes under way included. Throws 422 quota_exceeded. It holds as long as the
 * organization's row lock, under which the write's intent must be inserted.
 */
export async function assessQuota(
  db: Queryable,
  { orgId, defaults }: QuotaOwner,
  changes: readonly ObjectAmounts[],
): Promise<QuotaEffect[]> {
  const ids = changes.map(({ objectId }) => objectId);
  const [{ effective: limits }, { used, byObject }] = await sendTogether(
    readQuotas(db, orgId, defaults),
    readUses(db, orgId, ids),
  );
  const growth = sum(
    changes.map(({ objectId, desired }) => growthOf(byObject.get(objectId) ?? NO_AMOUNTS, desired)),
  );
  const shortfalls = findShortfalls(limits, used, growth);
  if (shortfalls.length > 0) {
    const details = shortfalls.map(({ name, growth: more, ...figures }) =>
      describeExcess(QUOTA_WIRE_NAMES[name], figures, more),
    );
    throw new ApiError("quota_exceeded", describeShortfalls(shortfalls), { details });
  }
  const delta = sum(
    changes.map(({ current, desired }) => mapAmounts((name) => desired[name] - current[name])),
  );
  return QUOTA_NAMES.map((name) => ({
    name: QUOTA_WIRE_NAMES[name],
    limit: limits[name],
    used: used[name],
    delta: delta[name],
    projected: used[name] + delta[name],
  }));
}

function sum(amounts: readonly QuotaAmounts[]): QuotaAmounts {
  return amounts.reduce(addAmounts, NO_AMOUNTS);
}

/** What the organization uses, objects by kubectl and GitOps and writes under way included. */
export async function readUse(db: Queryable, orgId: string): Promise<QuotaAmounts> {
  return (await readUses(db, orgId, [])).used;
}

/**
 * The quotas of an organization and what it uses. One connection, over which all statements go out together: those of
 * `readStores`, too, which may await nothing before it sends them. Throws 404.
 */
export async function readQuotasAndUse(
  db: Database,
  { orgId, defaults }: QuotaOwner,
  readStores: (tx: Queryable) => Promise<StoreQuotas>,
): Promise<{ quotas: Quotas; use: QuotaUse }> {
  const [quotas, used, stores] = await db.transaction((tx) =>
    sendTogether(readQuotas(tx, orgId, defaults), readUse(tx, orgId), readStores(tx)),
  );
  return { quotas, use: { used, stores } };
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
async function readUses(
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
  if (total === undefined) throw new Error("the sum of quotas returned no row");
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

import { assessCost, type CostEffect, type PlannedPool } from "../billing/index.ts";
import type { Queryable } from "../db/client.ts";
import { findCluster, listAllNodePools, type ProjectedNodePool } from "../projection/index.ts";
import { planPool } from "./effects.ts";

/** A pool of a cluster before and after a request; undefined while there is none. */
export interface PoolChange {
  orgId: string;
  clusterId: string;
  before: PlannedPool | undefined;
  after: PlannedPool | undefined;
}

/** What a change of one pool does to the price of its cluster. */
export async function assessPoolCost(
  db: Queryable,
  now: Date,
  { orgId, clusterId, before, after }: PoolChange,
): Promise<CostEffect> {
  const cluster = (await findCluster(db, orgId, clusterId))?.object;
  const id = (before ?? after)?.id;
  const pools = planStayingPools(await listAllNodePools(db, orgId, clusterId));
  const others = pools.filter((pool) => pool.id !== id);
  const withOthers = (pool: PlannedPool | undefined) => ({
    cluster,
    pools: pool === undefined ? others : [...others, pool],
  });
  return assessCost(db, now, withOthers(before), withOthers(after));
}

/** Of these pools those that are not being deleted, with the nodes that are billed. */
export function planStayingPools(pools: readonly ProjectedNodePool[]): PlannedPool[] {
  return pools
    .filter(({ status }) => status !== "deleting")
    .map(({ id, object }) => planPool(id, object.spec, object));
}

import type { Queryable } from "../db/client.ts";
import { notFound } from "../http/errors.ts";
import {
  findCluster,
  findNodePool,
  type ProjectedCluster,
  type ProjectedNodePool,
} from "../projection/index.ts";

/** The cluster in a path, as it is projected. Throws 404. */
export async function requireCluster(
  db: Queryable,
  orgId: string,
  clusterId: string,
): Promise<ProjectedCluster> {
  const cluster = await findCluster(db, orgId, clusterId);
  if (cluster === undefined) throw notFound("cluster");
  return cluster;
}

/** The node pool in a path, as it is projected. Throws 404, also for its cluster. */
export async function requireNodePool(
  db: Queryable,
  orgId: string,
  clusterId: string,
  poolId: string,
): Promise<ProjectedNodePool> {
  const [, pool] = await Promise.all([
    requireCluster(db, orgId, clusterId),
    findNodePool(db, orgId, clusterId, poolId),
  ]);
  if (pool === undefined) throw notFound("node pool");
  return pool;
}

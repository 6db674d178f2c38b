import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { AuditEntry } from "../audit/index.ts";
import type { Deps } from "../deps.ts";
import { notFound } from "../http/errors.ts";
import {
  findCluster,
  findNodePool,
  type ProjectedCluster,
  type ProjectedNodePool,
  projectObservations,
  toProjectedNodePool,
} from "../projection/store.ts";
import type { Written } from "../write-intents/store.ts";

/** The cluster of a path, as it is projected. Throws 404. */
export async function requireCluster(
  deps: Deps,
  orgId: string,
  clusterId: string,
): Promise<ProjectedCluster> {
  const cluster = await findCluster(deps.db, orgId, clusterId);
  if (cluster === undefined) throw notFound("cluster");
  return cluster;
}

/** The pool of a path and its cluster, as they are projected. Throws 404. */
export async function requireNodePool(deps: Deps, orgId: string, clusterId: string, poolId: string) {
  const [cluster, pool] = await Promise.all([
    requireCluster(deps, orgId, clusterId),
    findNodePool(deps.db, orgId, clusterId, poolId),
  ]);
  if (pool === undefined) throw notFound("node pool");
  return { cluster, pool };
}

/** The NodePool as the Kubernetes API has it now. One that is gone is no longer served from then on: throws 404. */
export async function readLive(deps: Deps, pool: ProjectedNodePool): Promise<NodePool> {
  const live = await deps.kube.get(nodePoolKind, pool.namespace, pool.name);
  if (live?.metadata.uid === pool.uid) return live;
  await deps.db.transaction((tx) => projectObservations(tx, [{ object: pool, gone: true }]));
  throw notFound("node pool");
}

/** Audit row and projection in one transaction: what the answer says, every replica says from then on. */
export async function commit(
  deps: Deps,
  cluster: ProjectedCluster,
  { object, tell }: Written<NodePool>,
  gone = false,
): Promise<ProjectedNodePool> {
  const projected = project(object, cluster);
  await deps.db.transaction(async (tx) => {
    await tell(tx);
    await projectObservations(tx, [{ object: projected, gone }]);
  });
  return projected;
}

/** What the audit log says of a change of a pool. */
export function toAudit(
  cluster: ProjectedCluster,
  nodePoolId: string,
  audit: Pick<AuditEntry, "action" | "before" | "after">,
): AuditEntry {
  return { ...audit, orgId: cluster.orgId, target: { kind: "node_pool", id: nodePoolId }, result: "done" };
}

/** A NodePool that was just read or written, as it is served; it has had its id since it was created. */
export function project(object: NodePool, cluster: ProjectedCluster): ProjectedNodePool {
  const projected = toProjectedNodePool(object, cluster.orgId, cluster.id);
  if (projected === undefined) throw new Error(`node pool ${object.metadata.name} has lost its id`);
  return projected;
}

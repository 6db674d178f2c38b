import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { runThenRollBack } from "../db/dry-run.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { type ProjectedCluster, type ProjectedNodePool, reserveName } from "../projection/store.ts";
import { assessQuota, type Effects, type QuotaClaim, reserveQuota } from "../quotas/store.ts";
import { claimOfCreate, claimOfDelete, claimOfUpdate, isGrowth, nameTaken } from "./claims.ts";
import { effectsOfCreate, effectsOfDelete, effectsOfUpdate } from "./effects.ts";
import { patchOnce, rehearseOnce, retryOvertaken, toRefusal } from "./kube-write.ts";
import { project, readLive } from "./live.ts";
import type { NodePoolChange } from "./merge-update.ts";
import { type NewNodePool, toNodePoolObject } from "./new-node-pool.ts";
import { asDeleting, decideUpdate, placeOf } from "./store.ts";
import { WIRE_NAMES } from "./wire-names.ts";

/** A pool as a request would leave it, and what else the request would do. */
export interface RehearsedPool {
  pool: ProjectedNodePool;
  effects: Effects;
}

/** All that `createNodePool` checks, in its order, and nothing of what it does. */
export async function rehearseCreate(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
  pool: NewNodePool,
): Promise<RehearsedPool> {
  const name = pool.spec.displayName ?? pool.objectName;
  const quota = await claim(deps, cluster, claimOfCreate(pool.id, pool.spec), { name, poolId: pool.id });
  const wanted = toNodePoolObject(placeOf(cluster, origin), pool);
  try {
    const object = await rehearseOnce(deps.kube, nodePoolKind, wanted);
    return { pool: project(object, cluster), effects: { quota, ...effectsOfCreate(pool.spec) } };
  } catch (error) {
    throw toRefusal(error, WIRE_NAMES);
  }
}

/** All that `updateNodePool` checks, and nothing of what it does. */
export async function rehearseUpdate(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
  pool: ProjectedNodePool,
  change: NodePoolChange,
  ifMatch: string | undefined,
): Promise<RehearsedPool> {
  return retryOvertaken("The node pool", async () => {
    const { live, patch, merged } = await decideUpdate(deps, pool, change, ifMatch);
    const renamed = typeof patch.displayName === "string" ? patch.displayName : undefined;
    const quota = await claim(
      deps,
      cluster,
      claimOfUpdate(pool.id, live, merged),
      renamed === undefined ? undefined : { name: renamed, poolId: pool.id },
    );
    const isChanged = Object.keys(patch).length > 0;
    const written = isChanged
      ? await patchOnce(deps.kube, nodePoolKind, live, {
          spec: patch,
          requestId: origin.requestId,
          wireNames: WIRE_NAMES,
          dryRun: true,
        })
      : live;
    if (written === undefined) return undefined;
    return { pool: project(written, cluster), effects: { quota, ...effectsOfUpdate(live, merged) } };
  });
}

/** All that `deleteNodePool` checks, and nothing of what it does. */
export async function rehearseDelete(
  deps: Deps,
  cluster: ProjectedCluster,
  pool: ProjectedNodePool,
): Promise<RehearsedPool> {
  const live = await readLive(deps, pool);
  if (live.metadata.deletionTimestamp === undefined)
    await deps.kube.delete(nodePoolKind, pool.namespace, pool.name, { uid: pool.uid, dryRun: true });
  const scope = { orgId: cluster.orgId, defaults: deps.config.quotas };
  const quota = await assessQuota(deps.db, scope, [claimOfDelete(pool.id, live)]);
  const deleting = project(asDeleting(live, deps.now()), cluster);
  return { pool: deleting, effects: { quota, ...effectsOfDelete(live) } };
}

/** Takes quota and name as the write would, in a transaction that is undone. */
async function claim(
  deps: Deps,
  { id: clusterId, orgId }: ProjectedCluster,
  quota: QuotaClaim,
  wanted: { name: string; poolId: string } | undefined,
) {
  const scope = { orgId, defaults: deps.config.quotas };
  return runThenRollBack(deps.db, async (tx) => {
    const effects = isGrowth(quota)
      ? await reserveQuota(tx, scope, quota.objectId, [quota])
      : await assessQuota(tx, scope, [quota]);
    if (wanted !== undefined && !(await reserveName(tx, clusterId, wanted.name, wanted.poolId)))
      throw await nameTaken(tx, clusterId, wanted.name);
    return effects;
  });
}

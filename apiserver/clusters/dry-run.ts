import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { CLUSTER_AMOUNTS, NO_AMOUNTS } from "../../shared/crd/quota.ts";
import { runThenRollBack } from "../db/dry-run.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import {
  asDeleting,
  claimOfDelete,
  effectsOfCreate,
  effectsOfDelete,
  effectsOfUpgrade,
  patchOnce,
  rehearseOnce,
  retryOvertaken,
  sumEffects,
  toNodePoolObject,
  toRefusal,
} from "../node-pools/store.ts";
import { ensureNamespace, lockOrganization } from "../organizations/index.ts";
import { listAllNodePools, type ProjectedCluster, reserveName } from "../projection/store.ts";
import { assessQuota, type Effects, reserveQuota } from "../quotas/store.ts";
import { claimsOfCreate } from "./claims.ts";
import { nameTaken, projectLive, readLive } from "./live.ts";
import { type NewCluster, toClusterObject } from "./new-cluster.ts";
import { CLUSTER_WIRE_NAMES } from "./schema.ts";
import { type ClusterChange, decideChange } from "./update.ts";

/** A cluster as a request would leave it, and what else the request would do. */
export interface RehearsedCluster {
  cluster: ProjectedCluster;
  effects: Effects;
}

/**
 * All that `createCluster` checks, in its order, and nothing of what it does. The Namespace is there from the
 * organization's birth on; should it be missing, this makes it as every look at it does.
 */
export async function rehearseCreate(deps: Deps, wish: NewCluster): Promise<RehearsedCluster> {
  await ensureNamespace(deps, wish.orgId);
  const name = wish.spec.displayName ?? wish.objectName;
  const quota = await runThenRollBack(deps.db, async (tx) => {
    await lockOrganization(tx, wish.orgId);
    const effects = await reserveQuota(tx, scopeOf(deps, wish.orgId), wish.clusterId, claimsOfCreate(wish));
    if (await reserveName(tx, wish.orgId, name, wish.clusterId)) return effects;
    throw await nameTaken(tx, wish.orgId, name);
  });
  try {
    for (const pool of wish.nodePools)
      await rehearseOnce(deps.kube, nodePoolKind, toNodePoolObject(wish, pool));
    const object = await rehearseOnce(deps.kube, clusterKind, toClusterObject(wish));
    const nodes = sumEffects(wish.nodePools.map(({ spec }) => effectsOfCreate(spec)));
    return { cluster: projectLive(object, wish.orgId), effects: { quota, ...nodes } };
  } catch (error) {
    throw toRefusal(error, CLUSTER_WIRE_NAMES);
  }
}

/** All that `changeCluster` checks, and nothing of what it does. */
export async function rehearseChange(
  deps: Deps,
  { requestId }: Origin,
  cluster: ProjectedCluster,
  change: ClusterChange,
): Promise<RehearsedCluster> {
  const changed = await retryOvertaken("The cluster", async () => {
    const { live, current, patch } = await decideChange(deps, cluster, change);
    if (Object.keys(patch).length === 0) return current;
    const name = patch.displayName;
    if (name !== undefined)
      await runThenRollBack(deps.db, async (tx) => {
        if (!(await reserveName(tx, cluster.orgId, name, cluster.id)))
          throw await nameTaken(tx, cluster.orgId, name);
      });
    const written = await patchOnce(deps.kube, clusterKind, live, {
      spec: { ...patch },
      requestId,
      wireNames: CLUSTER_WIRE_NAMES,
      dryRun: true,
    });
    return written === undefined ? undefined : projectLive(written, cluster.orgId);
  });
  const quota = await assessQuota(deps.db, scopeOf(deps, cluster.orgId), []);
  return { cluster: changed, effects: { quota, ...(await effectsOfVersion(deps, changed)) } };
}

/** All that `deleteCluster` checks, and nothing of what it does. */
export async function rehearseDelete(deps: Deps, cluster: ProjectedCluster): Promise<RehearsedCluster> {
  const live = await readLive(deps, cluster);
  if (live.metadata.deletionTimestamp === undefined)
    await deps.kube.delete(clusterKind, cluster.namespace, cluster.name, { uid: cluster.uid, dryRun: true });
  const pools = await listAllNodePools(deps.db, cluster.orgId, cluster.id);
  const own = { objectId: cluster.id, had: CLUSTER_AMOUNTS, wanted: NO_AMOUNTS };
  const claims = [own, ...pools.map(({ id, object }) => claimOfDelete(id, object))];
  const quota = await assessQuota(deps.db, scopeOf(deps, cluster.orgId), claims);
  const nodes = sumEffects(pools.map(({ object }) => effectsOfDelete(object)));
  const deleting = projectLive(asDeleting(live, deps.now()), cluster.orgId);
  return { cluster: deleting, effects: { quota, ...nodes } };
}

/** The nodes that make way for the version wanted: those of every pool that stays. */
async function effectsOfVersion(deps: Deps, { orgId, id, object }: ProjectedCluster) {
  const isUpgrade = object.status?.version !== undefined;
  const pools = isUpgrade ? await listAllNodePools(deps.db, orgId, id) : [];
  return sumEffects(
    pools
      .filter(({ status }) => status !== "deleting")
      .map(({ object: pool }) => effectsOfUpgrade(pool, object.spec.version)),
  );
}

function scopeOf({ config }: Deps, orgId: string) {
  return { orgId, defaults: config.quotas };
}

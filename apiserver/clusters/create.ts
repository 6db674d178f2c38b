import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { ApiError } from "../http/errors.ts";
import {
  createOnce,
  isCertainlyNotWritten,
  type NewNodePool,
  toNodePoolObject,
  toRefusal,
} from "../node-pools/store.ts";
import { ensureNamespace, lockOrganization } from "../organizations/index.ts";
import {
  findCluster,
  hasClusterRecord,
  type ProjectedCluster,
  projectObservations,
  releaseName,
  reserveName,
  toProjectedNodePool,
} from "../projection/store.ts";
import { releaseQuota, reserveQuota } from "../quotas/store.ts";
import { presentAudit } from "./audit-fields.ts";
import { claimsOfCreate } from "./claims.ts";
import { closeIntent, lockStaleIntent, openIntent } from "./intents.ts";
import { nameTaken, projectLive } from "./live.ts";
import { type NewCluster, toClusterObject } from "./new-cluster.ts";
import { CLUSTER_WIRE_NAMES } from "./schema.ts";

/**
 * Creates a cluster exactly once. Intent, quota and name are committed before anything of it is written; then the pools are written and the
 * Cluster last, whose existence is the commit; then projection, audit row and the end of the intent go in one
 * transaction. Safe to repeat with the same ids, also after a crash at any point. Throws 409 already_exists or
 * operation_in_progress for a name, 422 quota_exceeded or for what the Kubernetes API refuses, 503 when the write is not confirmed.
 */
export async function createCluster(
  deps: Deps,
  origin: Origin,
  wanted: NewCluster,
  resumed: boolean,
): Promise<ProjectedCluster> {
  if (resumed && (await hasClusterRecord(deps.db, wanted.orgId, wanted.clusterId)))
    return requireExisting(deps, wanted);
  await ensureNamespace(deps, wanted.orgId);
  const intent = await begin(deps, origin, wanted);
  if (intent.state === "done") return requireExisting(deps, intent.wish);
  const { wish } = intent;
  const suspects = resumed ? [...wish.nodePools] : [];
  try {
    const objects = await writeObjects(deps, wish, (pool) => suspects.push(pool));
    return await settleCreate(deps, intent.origin, wish, objects);
  } catch (error) {
    if (isCertainlyNotWritten(error)) await giveUp(deps, wish, suspects);
    throw toRefusal(error, CLUSTER_WIRE_NAMES);
  }
}

export interface CreatedObjects {
  cluster: Cluster;
  nodePools: NodePool[];
}

/** Commits what a create has made. When somebody else has done so already, nothing is told twice. */
export async function settleCreate(
  deps: Deps,
  origin: Origin,
  wish: NewCluster,
  { cluster, nodePools }: CreatedObjects,
): Promise<ProjectedCluster> {
  const projected = projectLive(cluster, wish.orgId);
  const pools = nodePools.flatMap((pool) => toProjectedNodePool(pool, wish.orgId, wish.clusterId) ?? []);
  await deps.db.transaction(async (tx) => {
    if (await closeIntent(tx, wish.clusterId, "done"))
      await recordAudit(tx, origin, {
        action: "cluster.create",
        orgId: wish.orgId,
        target: { kind: "cluster", id: wish.clusterId },
        after: {
          ...presentAudit(wish.spec, wish.objectName),
          node_pools: wish.nodePools.map(({ spec }) => spec.displayName),
        },
        result: "done",
      });
    await projectObservations(
      tx,
      [projected, ...pools].map((object) => ({ object })),
    );
    await releaseQuota(tx, wish.clusterId);
  });
  return projected;
}

/**
 * Gives a create up that nobody has worked on for so long: removes those of its pools that exist, ends the intent and lets
 * go of the name. The Cluster must not exist. A repetition of the request waits for that, and then begins anew. False when
 * one came before; throws, and changes nothing in the database, when a pool could not be removed.
 */
export async function abandonStaleCreate(
  deps: Deps,
  wish: NewCluster,
  olderThanSeconds: number,
): Promise<boolean> {
  return deps.db.transaction(async (tx) => {
    if (!(await lockStaleIntent(tx, wish.clusterId, olderThanSeconds))) return false;
    await removePools(deps, wish, wish.nodePools);
    await abandon(tx, wish);
    return true;
  });
}

async function removePools(deps: Deps, wish: NewCluster, suspects: readonly NewNodePool[]): Promise<void> {
  for (const pool of suspects) {
    const found = await deps.kube.get(nodePoolKind, wish.namespace, pool.objectName);
    if (found?.metadata.uid === undefined || found.metadata.labels?.[LABEL_ID] !== pool.id) continue;
    await deps.kube.delete(nodePoolKind, wish.namespace, pool.objectName, { uid: found.metadata.uid });
  }
}

async function abandon(tx: Queryable, wish: NewCluster): Promise<void> {
  if (!(await closeIntent(tx, wish.clusterId, "abandoned"))) return;
  await releaseName(tx, wish.orgId, nameOf(wish), wish.clusterId);
  await releaseQuota(tx, wish.clusterId);
}

async function begin(deps: Deps, origin: Origin, wanted: NewCluster) {
  return deps.db.transaction(async (tx) => {
    await lockOrganization(tx, wanted.orgId);
    const intent = await openIntent(tx, wanted, origin);
    if (intent.state === "done") return intent;
    const name = nameOf(intent.wish);
    const scope = { orgId: wanted.orgId, defaults: deps.config.quotas };
    await reserveQuota(tx, scope, wanted.clusterId, claimsOfCreate(intent.wish));
    if (await reserveName(tx, wanted.orgId, name, wanted.clusterId)) return intent;
    throw await nameTaken(tx, wanted.orgId, name);
  });
}

async function writeObjects(
  { kube }: Deps,
  wish: NewCluster,
  onMade: (pool: NewNodePool) => void,
): Promise<CreatedObjects> {
  const nodePools: NodePool[] = [];
  for (const pool of wish.nodePools) {
    const made = await createOnce(kube, nodePoolKind, toNodePoolObject(wish, pool));
    if (made.metadata.deletionTimestamp !== undefined) throw stillRemoved();
    nodePools.push(made);
    onMade(pool);
  }
  const cluster = await createOnce(kube, clusterKind, toClusterObject(wish));
  return { cluster, nodePools };
}

function stillRemoved(): ApiError {
  return new ApiError("conflict", "What an earlier attempt left is being removed; try again.", {
    retryAfterSeconds: 5,
  });
}

/** What cannot be undone now is left to the sweeper; the client hears of the first error, not of this one. */
async function giveUp(deps: Deps, wish: NewCluster, suspects: readonly NewNodePool[]): Promise<void> {
  try {
    await removePools(deps, wish, suspects);
    await deps.db.transaction((tx) => abandon(tx, wish));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    deps.log.warn({ clusterId: wish.clusterId, message }, "a create is left to be swept");
  }
}

async function requireExisting(deps: Deps, wish: NewCluster): Promise<ProjectedCluster> {
  const existing = await findCluster(deps.db, wish.orgId, wish.clusterId);
  if (existing !== undefined) return existing;
  throw new ApiError("conflict", "The cluster that this request created has been deleted since.");
}

function nameOf(wish: NewCluster): string {
  return wish.spec.displayName ?? wish.objectName;
}

import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import { idOf } from "../../../shared/crd/identity.ts";
import { type NodePool, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { CLUSTER_AMOUNTS, NO_AMOUNTS } from "../../../shared/crd/quota.ts";
import { messageOf } from "../../../shared/program/errors.ts";
import { recordAudit } from "../../audit/index.ts";
import { assessCost, type PlannedCluster, requireOffered } from "../../billing/index.ts";
import { runThenRollBack } from "../../db/dry-run.ts";
import type { Deps } from "../../deps.ts";
import type { Origin } from "../../http/authentication/principal.ts";
import { type Caller, transactAs } from "../../http/contract/caller.ts";
import { ApiError } from "../../http/errors.ts";
import {
  amountsOfCreate,
  type Effects,
  effectsOfCreate,
  type NewNodePool,
  planPool,
  sumEffects,
  toNodePoolObject,
} from "../../node-pools/index.ts";
import { ensureNamespace } from "../../organizations/index.ts";
import { assessQuota, createQuotaReservation } from "../../quotas/index.ts";
import {
  findCluster,
  hasClusterRecord,
  type ProjectedCluster,
  projectObservations,
  toProjectedNodePool,
} from "../../resources/project/index.ts";
import {
  createNameReservation,
  createOrAdopt,
  isNotApplied,
  type Reservation,
  toRefusal,
  type WriteResult,
} from "../../resources/write/index.ts";
import { auditCluster } from "../present.ts";
import { clustersOf } from "../resource.ts";
import { type NewCluster, toClusterObject } from "./new-cluster.ts";
import { closeIntent, lockStaleIntent, openClusterIntent } from "./store.ts";

export interface CreateOptions {
  /** An earlier attempt of the same request may have created some of it. */
  resumed: boolean;
  dryRun: boolean;
}

/**
 * Creates a cluster exactly once. Intent, quota and name are committed before any object is written; then the pools are
 * created, and the Cluster last: once it exists, the create will be completed. Then projection, audit row and the end of the
 * intent are committed together. Safe to repeat with the same ids, also after a crash at any point. Throws 409
 * already_exists or operation_in_progress for a name, 422 quota_exceeded or for what the Kubernetes API refuses, and the
 * KubeError of a write that is not confirmed.
 */
export async function createCluster(
  deps: Deps,
  caller: Caller,
  desired: NewCluster,
  { resumed, dryRun }: CreateOptions,
): Promise<WriteResult<ProjectedCluster, Effects>> {
  if (resumed && (await hasClusterRecord(deps.db, desired.orgId, desired.clusterId)))
    return requireExisting(deps, desired);
  await ensureNamespace(deps, desired.orgId);
  if (dryRun) return dryRunCreate(deps, caller, desired);
  const intent = await begin(deps, caller, desired, resumed);
  // An earlier attempt has fixed the ids and names.
  const request = intent.request;
  if (intent.state === "done") return requireExisting(deps, request);
  const createdPools = resumed ? [...request.nodePools] : [];
  try {
    const objects = await createObjects(deps, request, {
      dryRun: false,
      onCreated: (pool) => createdPools.push(pool),
    });
    const object = await completeCreate(deps, intent.origin, request, objects);
    return { object, effects: undefined };
  } catch (error) {
    if (isNotApplied(error)) await undo(deps, request, createdPools);
    throw toRefusal(error, clustersOf(request.orgId).wireNames);
  }
}

/** Every check of a create, and its result; nothing is stored but a Namespace that was missing. */
async function dryRunCreate(
  deps: Deps,
  caller: Caller,
  request: NewCluster,
): Promise<WriteResult<ProjectedCluster, Effects>> {
  const { orgId, nodePools } = request;
  const clusters = clustersOf(orgId);
  const assessed = await runThenRollBack(deps.db, async (tx) => {
    await caller.confirm(tx);
    if (request.spec.plan !== undefined) await requireOffered(tx, request.spec.plan);
    const quota = await assessQuota(tx, quotaScopeOf(deps, orgId), quotaAmountsOf(request));
    const cost = await assessCost(tx, deps.now(), { cluster: undefined, pools: [] }, planCluster(request));
    for (const one of reservationsOf(deps, request)) await one.take(tx);
    return { quota, cost };
  });
  try {
    const { cluster } = await createObjects(deps, request, { dryRun: true });
    const nodes = sumEffects(nodePools.map(({ spec }) => effectsOfCreate(spec)));
    return { object: clusters.project(cluster), effects: { ...assessed, ...nodes } };
  } catch (error) {
    throw toRefusal(error, clusters.wireNames);
  }
}

async function begin(deps: Deps, caller: Caller, desired: NewCluster, resumed: boolean) {
  const { plan } = desired.spec;
  return transactAs(deps.db, caller, async (tx) => {
    // What an earlier attempt has begun is completed, whatever was retired since.
    if (plan !== undefined && !resumed) await requireOffered(tx, plan);
    const intent = await openClusterIntent(tx, desired, caller.origin);
    if (intent.state === "done") return intent;
    for (const one of reservationsOf(deps, intent.request)) await one.take(tx);
    return intent;
  });
}

export interface CreatedObjects {
  cluster: Cluster;
  nodePools: NodePool[];
}

async function createObjects(
  { kube }: Deps,
  request: NewCluster,
  { dryRun, onCreated }: { dryRun: boolean; onCreated?: (pool: NewNodePool) => void },
): Promise<CreatedObjects> {
  const nodePools: NodePool[] = [];
  for (const pool of request.nodePools) {
    const created = await createOrAdopt(kube, nodePoolKind, toNodePoolObject(request, pool), { dryRun });
    if (created.metadata.deletionTimestamp !== undefined) throw stillDeleting();
    nodePools.push(created);
    onCreated?.(pool);
  }
  const cluster = await createOrAdopt(kube, clusterKind, toClusterObject(request), { dryRun });
  return { cluster, nodePools };
}

/** Commits a create whose objects exist; a second call for the same create records nothing again. */
export async function completeCreate(
  deps: Deps,
  origin: Origin,
  request: NewCluster,
  { cluster, nodePools }: CreatedObjects,
): Promise<ProjectedCluster> {
  const { orgId, clusterId } = request;
  const projected = clustersOf(orgId).project(cluster);
  const pools = nodePools.flatMap((pool) => toProjectedNodePool(pool, orgId, clusterId) ?? []);
  await deps.db.transaction(async (tx) => {
    if (await closeIntent(tx, clusterId, "done"))
      await recordAudit(tx, origin, {
        action: "cluster.create",
        orgId,
        target: { kind: "cluster", id: clusterId },
        after: {
          ...auditCluster(request.spec, request.objectName),
          node_pools: request.nodePools.map(({ spec }) => spec.displayName),
        },
        result: "done",
      });
    await projectObservations(
      tx,
      [projected, ...pools].map((object) => ({ object })),
    );
    for (const one of reservationsOf(deps, request)) await one.complete(tx);
  });
  return projected;
}

/**
 * Undoes a create that no request has worked on for so long: deletes those of its pools that exist, ends the intent and
 * releases its reservations. The Cluster must not exist. A repeated request waits for that, and then starts over. False when it
 * was resumed or completed before; throws, and changes nothing in the database, when a pool could not be deleted.
 */
export async function abandonStaleCreate(
  deps: Deps,
  request: NewCluster,
  olderThanSeconds: number,
): Promise<boolean> {
  return deps.db.transaction(async (tx) => {
    if (!(await lockStaleIntent(tx, request.clusterId, olderThanSeconds))) return false;
    await deletePools(deps, request, request.nodePools);
    await closeIntent(tx, request.clusterId, "abandoned");
    for (const one of reservationsOf(deps, request)) await one.release(tx);
    return true;
  });
}

/** Undoes a create whose Cluster was certainly not written. What fails here is left to the sweep. */
async function undo(deps: Deps, request: NewCluster, createdPools: readonly NewNodePool[]): Promise<void> {
  try {
    await deletePools(deps, request, createdPools);
    await deps.db.transaction(async (tx) => {
      if (!(await closeIntent(tx, request.clusterId, "abandoned"))) return;
      for (const one of reservationsOf(deps, request)) await one.release(tx);
    });
  } catch (error) {
    const message = messageOf(error);
    deps.log.warn({ clusterId: request.clusterId, message }, "a failed create is left to the sweep");
  }
}

async function deletePools(deps: Deps, request: NewCluster, pools: readonly NewNodePool[]): Promise<void> {
  for (const pool of pools) {
    const found = await deps.kube.get(nodePoolKind, request.namespace, pool.objectName);
    if (found?.metadata.uid === undefined || idOf(found) !== pool.id) continue;
    await deps.kube.delete(nodePoolKind, request.namespace, pool.objectName, { uid: found.metadata.uid });
  }
}

/** The quota of the cluster and its pools, and its name. */
function reservationsOf(deps: Deps, request: NewCluster): Reservation[] {
  const { orgId, clusterId, spec, objectName } = request;
  return [
    createQuotaReservation(quotaScopeOf(deps, orgId), clusterId, quotaAmountsOf(request)),
    createNameReservation(clustersOf(orgId), spec.displayName ?? objectName, clusterId),
  ];
}

function quotaAmountsOf({ clusterId, nodePools }: NewCluster) {
  const own = { objectId: clusterId, current: NO_AMOUNTS, desired: CLUSTER_AMOUNTS };
  return [own, ...nodePools.map(({ id, spec }) => amountsOfCreate(id, spec))];
}

function planCluster({ spec, nodePools }: NewCluster): PlannedCluster {
  const pools = nodePools.map(({ id, spec: pool }) => planPool(id, pool, undefined));
  return { cluster: { spec }, pools };
}

function quotaScopeOf({ config }: Deps, orgId: string) {
  return { orgId, defaults: config.quotas };
}

async function requireExisting(deps: Deps, { orgId, clusterId }: NewCluster) {
  const object = await findCluster(deps.db, orgId, clusterId);
  if (object === undefined)
    throw new ApiError("conflict", "The cluster that this request created has been deleted since.");
  return { object, effects: undefined };
}

function stillDeleting(): ApiError {
  return new ApiError("conflict", "Objects of an earlier attempt are being deleted; try again.", {
    retryAfterSeconds: 5,
  });
}

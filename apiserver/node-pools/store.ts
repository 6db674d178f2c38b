import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { objectTag, requireMatch } from "../http/contract/etag.ts";
import { ApiError, validationFailed } from "../http/errors.ts";
import { findNodePool, type ProjectedCluster, type ProjectedNodePool } from "../projection/store.ts";
import { tellOfCreation, writeWithIntent } from "../write-intents/store.ts";
import { presentAudit } from "./audit-fields.ts";
import { claimOfCreate, claimOfUpdate, claimsOf } from "./claims.ts";
import { requireUnmanaged } from "./field-owner.ts";
import { createOnce, patchOnce, retryOvertaken, toRefusal } from "./kube-write.ts";
import { commit, project, readLive, toAudit } from "./live.ts";
import { mergeUpdate, type NodePoolChange } from "./merge-update.ts";
import { type NewNodePool, type ObjectPlace, toNodePoolObject } from "./new-node-pool.ts";

import { WIRE_NAMES } from "./wire-names.ts";

export { isCertainlyNotWritten } from "../write-intents/store.ts";
export { claimOfCreate, claimOfDelete } from "./claims.ts";
export { effectsOfCreate, effectsOfDelete, effectsOfUpgrade, sumEffects } from "./effects.ts";
export { requireUnmanaged } from "./field-owner.ts";
export { createOnce, patchOnce, rehearseOnce, retryOvertaken, toRefusal } from "./kube-write.ts";
export { type NewNodePool, type ObjectPlace, toNodePoolObject } from "./new-node-pool.ts";
export { checkPoolRules } from "./pool-rules.ts";
export { type CreateNodePoolBody, createNodePoolBody, toNodePoolSpec } from "./schema.ts";

/**
 * Creates a pool in a cluster: takes its quota and its name, writes the NodePool, and commits audit row and projection
 * before it returns. Safe to repeat with the same ids. Throws 422 quota_exceeded, 409 already_exists for a taken name,
 * 422 for what the Kubernetes API refuses, 503 when the write is not confirmed.
 */
export async function createNodePool(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
  pool: NewNodePool,
): Promise<ProjectedNodePool> {
  const known = await findNodePool(deps.db, cluster.orgId, cluster.id, pool.id);
  if (known !== undefined) {
    await deps.db.transaction((tx) => tellOfCreation(tx, pool.id));
    return known;
  }
  const object = toNodePoolObject(placeOf(cluster, origin), pool);
  const name = pool.spec.displayName ?? pool.objectName;
  try {
    const written = await writeWithIntent(
      deps,
      origin,
      {
        kind: "NodePool",
        verb: "create",
        metadata: object.metadata,
        entry: toAudit(cluster, pool.id, { action: "node_pool.create", after: presentAudit(pool.spec) }),
      },
      () => createOnce(deps.kube, nodePoolKind, object),
      claimsOf(deps, cluster, { quota: claimOfCreate(pool.id, pool.spec), name }),
    );
    return await commit(deps, cluster, written);
  } catch (error) {
    throw toRefusal(error, WIRE_NAMES);
  }
}

/** Where an object of a request belongs. */
export function placeOf(cluster: ProjectedCluster, { requestId }: Origin): ObjectPlace {
  return { orgId: cluster.orgId, namespace: cluster.namespace, clusterId: cluster.id, requestId };
}

/**
 * Changes a pool: merges with it as it was last seen, and patches just the fields that change, on that version. Where it
 * has moved on since, or the change would be refused, it is read and merged anew, at most five times. A change to what
 * is there already writes nothing. Throws 404, 412 for If-Match, 422 for the merged result and for quota_exceeded, 409
 * already_exists, managed_elsewhere or conflict.
 */
export async function updateNodePool(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
  pool: ProjectedNodePool,
  change: NodePoolChange,
  ifMatch: string | undefined,
): Promise<ProjectedNodePool> {
  const written = await writeForeseen(deps, origin, cluster, pool, change, ifMatch);
  if (written !== undefined) return written;
  return retryOvertaken("The node pool", async () => {
    const decided = await decideUpdate(deps, pool, change, ifMatch);
    if (decided.changed.length === 0) return project(decided.live, cluster);
    return writeUpdate(deps, origin, cluster, decided);
  });
}

/**
 * The first attempt, by the projection, which spares the read: what is written on the version that is projected is right.
 * Undefined for what it cannot tell for sure: a refusal, a change of nothing, who applies which field, a later version.
 */
async function writeForeseen(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
  pool: ProjectedNodePool,
  change: NodePoolChange,
  ifMatch: string | undefined,
): Promise<ProjectedNodePool | undefined> {
  if (pool.outsideWriters.some(({ operation }) => operation === "Apply")) return undefined;
  try {
    const decided = decide(pool, pool.object, change, ifMatch);
    return decided.changed.length === 0 ? undefined : await writeUpdate(deps, origin, cluster, decided);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** What an update has to write, on which version of the pool. */
type DecidedUpdate = { id: string; live: NodePool } & Extract<ReturnType<typeof mergeUpdate>, { ok: true }>;

/** Undefined when the pool has moved on from the version that the update was decided on. */
async function writeUpdate(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
  { id, live, changed, patch, merged }: DecidedUpdate,
): Promise<ProjectedNodePool | undefined> {
  const entry = toAudit(cluster, id, {
    action: "node_pool.update",
    before: presentAudit(live.spec, changed),
    after: presentAudit(merged, changed),
  });
  const written = await writeWithIntent(
    deps,
    origin,
    { kind: "NodePool", verb: "change", metadata: live.metadata, entry },
    () =>
      patchOnce(deps.kube, nodePoolKind, live, {
        spec: patch,
        requestId: origin.requestId,
        wireNames: WIRE_NAMES,
      }),
    claimsOf(deps, cluster, { quota: claimOfUpdate(id, live, merged), name: newNameOf(patch) }),
  );
  return written === undefined ? undefined : commit(deps, cluster, written);
}

function newNameOf({ displayName }: Record<string, unknown>): string | undefined {
  return typeof displayName === "string" ? displayName : undefined;
}

/** What an update has to write of the pool as it is in this very moment. Throws what `updateNodePool` does of it. */
export async function decideUpdate(
  deps: Deps,
  pool: ProjectedNodePool,
  change: NodePoolChange,
  ifMatch: string | undefined,
): Promise<DecidedUpdate> {
  return decide(pool, await readLive(deps, pool), change, ifMatch);
}

function decide(
  pool: ProjectedNodePool,
  live: NodePool,
  change: NodePoolChange,
  ifMatch: string | undefined,
): DecidedUpdate {
  requireMatch(ifMatch, objectTag(live.metadata));
  const merge = mergeUpdate(toCurrent(pool, live), change);
  if (!merge.ok) throw validationFailed(merge.details);
  if (live.metadata.deletionTimestamp !== undefined) throw beingDeleted();
  requireUnmanaged(live.metadata.managedFields, merge.changed, WIRE_NAMES);
  return { id: pool.id, live, ...merge };
}

/** Asks for a pool's deletion; its record says deleting from now on. Throws 404 when it is gone already. */
export async function deleteNodePool(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
  pool: ProjectedNodePool,
): Promise<ProjectedNodePool> {
  const live = await readLive(deps, pool);
  if (live.metadata.deletionTimestamp !== undefined) return project(live, cluster);
  const entry = toAudit(cluster, pool.id, {
    action: "node_pool.delete",
    before: presentAudit(live.spec),
  });
  let isGone = false;
  const written = await writeWithIntent(
    deps,
    origin,
    { kind: "NodePool", verb: "delete", metadata: live.metadata, entry },
    async () => {
      await deps.kube.delete(nodePoolKind, pool.namespace, pool.name, { uid: pool.uid });
      const left = await deps.kube.get(nodePoolKind, pool.namespace, pool.name);
      isGone = left?.metadata.uid !== pool.uid;
      return isGone || left === undefined ? asDeleting(live, deps.now()) : left;
    },
  );
  return commit(deps, cluster, written, isGone);
}

/** The same object, marked as the Kubernetes API marks one that is being deleted: that is a new generation. */
export function asDeleting<T extends KubeObject>(object: T, now: Date): T {
  const { deletionTimestamp = now.toISOString(), generation = 1, finalizers = [] } = object.metadata;
  const isHeld = object.metadata.deletionTimestamp === undefined && finalizers.length > 0;
  const marks = { deletionTimestamp, generation: generation + (isHeld ? 1 : 0) };
  return { ...object, metadata: { ...object.metadata, ...marks } };
}

function toCurrent(pool: ProjectedNodePool, live: NodePool) {
  return {
    name: live.spec.displayName ?? live.metadata.name,
    spec: live.spec,
    fixed: { id: pool.id, cluster_id: pool.clusterId, node_taints: live.spec.nodeTaints ?? [] },
  };
}

function beingDeleted(): ApiError {
  return new ApiError("conflict", "The node pool is being deleted; it cannot be changed any more.");
}

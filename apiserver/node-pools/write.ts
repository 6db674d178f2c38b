import { isAlwaysPropagated } from "../../shared/crd/node-metadata.ts";
import type { NodePool, NodePoolSpec } from "../../shared/crd/node-pool.ts";
import type { PlanCapabilities } from "../../shared/crd/published-config.ts";
import { NO_AMOUNTS, poolAmounts } from "../../shared/crd/quota.ts";
import { assessCost, type BilledPool, type CostEffect } from "../billing/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Caller } from "../http/contract/caller.ts";
import type { Preconditions } from "../http/contract/etag.ts";
import { ApiError, type ErrorDetail, validationFailed } from "../http/errors.ts";
import { assessQuota, increasesUse, type ObjectAmounts } from "../quotas/index.ts";
import { findUnsupported } from "../resources/platform-config.ts";
import {
  findCluster,
  findNodePool,
  listAllNodePools,
  type ProjectedCluster,
  type ProjectedNodePool,
  quotaUseOf,
} from "../resources/project/index.ts";
import {
  changeObject,
  createObject,
  deleteObject,
  isWriteIntended,
  requireUnprotected,
  requireUnsuspendedCluster,
  type ScheduledOption,
  type WriteResult,
} from "../resources/write/index.ts";
import { type NewNodePool, nodePoolsOf, type ObjectPlace, toNodePoolObject } from "./collection.ts";
import { effectsOfCreate, effectsOfDelete, effectsOfUpdate, toBilledPool } from "./effects.ts";
import { mergeNodePoolUpdate, type NodePoolChange } from "./merge-update.ts";
import { auditNodePool } from "./present.ts";
import { type CreateNodePoolBody, type Effects, findPastExpiry, type NodeEffects } from "./schema.ts";

/** A pool of a cluster before and after a request; undefined while there is none. */
interface BilledPoolChange {
  orgId: string;
  clusterId: string;
  before: BilledPool | undefined;
  after: BilledPool | undefined;
}

type NodePoolResult = WriteResult<ProjectedNodePool, Effects>;

interface WriteOptions {
  preconditions?: Preconditions | undefined;
  dryRun?: boolean;
}

/**
 * Creates a pool in a cluster; safe to repeat with the same ids. Throws 404 and 409 conflict for a cluster that takes none any more,
 * 422 for `details`, unless an earlier attempt has begun, 422 quota_exceeded, 422 for a taken name, and what `createObject` throws.
 */
export async function createNodePool(
  deps: Deps,
  caller: Caller,
  cluster: ProjectedCluster,
  pool: NewNodePool,
  { dryRun = false, details = [] }: { dryRun?: boolean; details?: readonly ErrorDetail[] } = {},
): Promise<NodePoolResult> {
  const { orgId, id: clusterId, namespace } = cluster;
  const place = { orgId, namespace, clusterId, requestId: caller.author.requestId };
  const { check, effects } = assessChange(deps, amountsOfCreate(pool.id, pool.spec), {
    billed: { orgId, clusterId, before: undefined, after: toBilledPool(pool.id, pool.spec, undefined) },
    nodes: effectsOfCreate(pool.spec),
  });
  return createObject(deps, caller, nodePoolsOf(orgId, clusterId), {
    action: "node_pool.create",
    dryRun,
    newObject: toNewObject(place, pool),
    after: auditNodePool(pool.spec),
    requireParent: (tx) => requireOpenCluster(tx, orgId, clusterId),
    async check(tx) {
      const [first, ...others] = details;
      if (first !== undefined) throw validationFailed([first, ...others]);
      await check?.(tx);
    },
    effects,
    findServed: (db) => findNodePool(db, orgId, clusterId, pool.id),
  });
}

/** Throws 404 for a cluster that is deleted, 409 conflict for one that is suspended or being deleted. */
async function requireOpenCluster(tx: Queryable, orgId: string, clusterId: string): Promise<void> {
  const cluster = await requireUnsuspendedCluster(tx, { orgId, clusterId });
  const message = "The cluster is being deleted; no node pool can be added.";
  if (cluster.status === "deleting") throw new ApiError("conflict", message);
  // Kubernetes may still refuse that deletion.
  if (await isWriteIntended(tx, { verb: "delete", objectId: clusterId }))
    throw new ApiError("conflict", message, { retryAfterSeconds: 5 });
}

/** The NodePool to create, with its display name and what it uses of the quotas. */
export function toNewObject(place: ObjectPlace, pool: NewNodePool) {
  const { id, objectName, spec } = pool;
  return {
    collection: nodePoolsOf(place.orgId, place.clusterId),
    id,
    object: toNodePoolObject(place, pool),
    displayName: spec.displayName ?? objectName,
    amounts: poolAmounts(spec),
  };
}

/**
 * Changes a pool: what is there already is not written. Throws 422 for the merged result, a taken name and
 * quota_exceeded, 409 conflict, also for a suspended cluster, and what `changeObject` throws.
 */
export async function updateNodePool(
  deps: Deps,
  caller: Caller,
  pool: ProjectedNodePool,
  change: NodePoolChange,
  { capabilities, ...options }: WriteOptions & { capabilities?: PlanCapabilities | undefined } = {},
): Promise<NodePoolResult> {
  const collection = nodePoolsOf(pool.orgId, pool.clusterId);
  return changeObject(deps, caller, collection, pool, {
    ...options,
    action: "node_pool.update",
    decide(current) {
      const { metadata, spec } = current.object;
      const merge = mergeNodePoolUpdate(current, change);
      if (!merge.ok) throw validationFailed(merge.details);
      if (metadata.deletionTimestamp !== undefined)
        throw new ApiError("conflict", "The node pool is being deleted; it can no longer be changed.");
      const { patch, merged, changed } = merge;
      const labels = findNewLabels(spec.nodeLabels, merged.nodeLabels);
      const [first, ...others] = [
        ...findUnsupportedOfPool({ node_labels: labels }, capabilities),
        ...(changed.includes("expiresAt") ? findPastExpiry(merged.expiresAt, deps.now()) : []),
      ];
      if (first !== undefined) throw validationFailed([first, ...others]);
      const assessed = assessChange(deps, amountsOfUpdate(current, merged), {
        billed: {
          ...pool,
          before: toBilledPool(pool.id, spec, current.object),
          after: toBilledPool(pool.id, merged, current.object),
        },
        nodes: effectsOfUpdate(current.object, merged),
      });
      return {
        spec: patch,
        before: auditNodePool(spec, changed),
        after: auditNodePool(merged, changed),
        ...assessed,
        async check(tx) {
          await requireUnsuspendedCluster(tx, pool);
          await assessed.check?.(tx);
        },
        displayName: typeof patch.displayName === "string" ? patch.displayName : undefined,
      };
    },
  });
}

/**
 * Requests the deletion of a pool, by a request or as `scheduled`. Throws 409 deletion_protected for a protected one, 409 conflict for
 * one of a suspended cluster, and what `deleteObject` throws.
 */
export async function deleteNodePool(
  deps: Deps,
  caller: Caller,
  pool: ProjectedNodePool,
  { dryRun = false, preconditions, scheduled }: WriteOptions & ScheduledOption<ProjectedNodePool> = {},
): Promise<NodePoolResult> {
  return deleteObject(deps, caller, nodePoolsOf(pool.orgId, pool.clusterId), pool, {
    action: "node_pool.delete",
    preconditions,
    dryRun,
    decide(current) {
      const { object } = current;
      requireUnprotected(current, "node pool");
      const amounts = amountsOfDelete(pool.id, object);
      const schedule = scheduled?.(current);
      return {
        ...schedule,
        async check(tx) {
          await requireUnsuspendedCluster(tx, pool);
          await schedule?.check?.(tx);
        },
        before: auditNodePool(object.spec),
        effects: assessChange(deps, amounts, {
          billed: { ...pool, before: toBilledPool(pool.id, object.spec, object), after: undefined },
          nodes: effectsOfDelete(object),
        }).effects,
      };
    },
  });
}

/** The quota amounts of a pool after a write, the check that its growth fits, and the effects on nodes and cost. */
function assessChange(
  { config, now }: Deps,
  amounts: ObjectAmounts,
  { billed, nodes }: { billed: BilledPoolChange; nodes: NodeEffects },
) {
  const owner = { orgId: billed.orgId, defaults: config.quotas };
  const requireQuota = (db: Queryable) => assessQuota(db, owner, [amounts]);
  return {
    amounts: amounts.desired,
    check: increasesUse(amounts) ? requireQuota : undefined,
    effects: async (db: Queryable): Promise<Effects> => ({
      quota: await requireQuota(db),
      ...nodes,
      warnings: [],
      cost: await assessPoolCost(db, now(), billed),
    }),
  };
}

/** What a new pool adds to the quotas in use. */
export function amountsOfCreate(objectId: string, spec: NodePoolSpec): ObjectAmounts {
  return { objectId, current: NO_AMOUNTS, desired: poolAmounts(spec) };
}

/** What a change of a pool adds. */
function amountsOfUpdate({ id, object }: ProjectedNodePool, after: NodePoolSpec): ObjectAmounts {
  return {
    objectId: id,
    current: quotaUseOf(object),
    desired: quotaUseOf(object, after),
  };
}

/** What the deletion of a pool frees. */
export function amountsOfDelete(objectId: string, pool: NodePool): ObjectAmounts {
  return { objectId, current: quotaUseOf(pool), desired: NO_AMOUNTS };
}

/** What a change of one pool does to the price of its cluster. */
async function assessPoolCost(
  db: Queryable,
  now: Date,
  { orgId, clusterId, before, after }: BilledPoolChange,
): Promise<CostEffect> {
  const cluster = (await findCluster(db, orgId, clusterId))?.object;
  const id = (before ?? after)?.id;
  const pools = toRemainingPools(await listAllNodePools(db, orgId, clusterId));
  const others = pools.filter((pool) => pool.id !== id);
  const withOthers = (pool: BilledPool | undefined) => ({
    cluster,
    pools: pool === undefined ? others : [...others, pool],
  });
  return assessCost(db, now, withOthers(before), withOthers(after));
}

/** The given pools that are not being deleted, with the nodes that are billed. */
export function toRemainingPools(pools: readonly ProjectedNodePool[]): BilledPool[] {
  return pools
    .filter(({ status }) => status !== "deleting")
    .map(({ id, object }) => toBilledPool(id, object.spec, object));
}

/**
 * The labels of `after` that `before` does not have, or has with another value: those that are there already are never
 * refused.
 */
function findNewLabels(
  before: Readonly<Record<string, string>> = {},
  after: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return Object.fromEntries(Object.entries(after).filter(([key, value]) => before[key] !== value));
}

/**
 * What a pool asks for and the class of its cluster is known not to have; `prefix` is the place of the pool in the
 * body.
 */
export function findUnsupportedOfPool(
  {
    node_labels: labels = {},
    node_taints: taints = [],
  }: Pick<CreateNodePoolBody, "node_labels" | "node_taints">,
  capabilities: PlanCapabilities | undefined,
  prefix = "",
): ErrorDetail[] {
  const needsLabels = Object.keys(labels).some((key) => !isAlwaysPropagated(key));
  return [
    ...(needsLabels ? findUnsupported(`${prefix}node_labels`, capabilities?.nodeLabels) : []),
    ...(taints.length > 0 ? findUnsupported(`${prefix}node_taints`, capabilities?.nodeTaints) : []),
  ];
}

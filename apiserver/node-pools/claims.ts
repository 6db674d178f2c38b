import type { NodePool, NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { NO_AMOUNTS, poolAmounts, QUOTA_NAMES } from "../../shared/crd/quota.ts";
import { createId } from "../../shared/id.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import { ApiError } from "../http/errors.ts";
import { isNameInFlight, type ProjectedCluster, releaseName, reserveName } from "../projection/store.ts";
import { type QuotaClaim, releaseQuota, reserveQuota } from "../quotas/store.ts";
import type { Claims } from "../write-intents/store.ts";

/** What a new pool claims of the quotas. */
export function claimOfCreate(id: string, spec: NodePoolSpec): QuotaClaim {
  return { objectId: id, had: NO_AMOUNTS, wanted: poolAmounts(spec) };
}

/** What a change of a pool claims. */
export function claimOfUpdate(id: string, before: NodePool, after: NodePoolSpec): QuotaClaim {
  return { objectId: id, had: poolAmounts(before.spec), wanted: poolAmounts(after) };
}

/** What the deletion of a pool gives back. */
export function claimOfDelete(id: string, { spec }: NodePool): QuotaClaim {
  return { objectId: id, had: poolAmounts(spec), wanted: NO_AMOUNTS };
}

/** Whether a write asks for more of any quota. */
export function isGrowth({ had, wanted }: QuotaClaim): boolean {
  return QUOTA_NAMES.some((name) => wanted[name] > had[name]);
}

/** What a write of a pool takes: its growth, and the name that it gets; nothing of what it leaves as it is. */
export interface NodePoolClaim {
  quota: QuotaClaim;
  name: string | undefined;
}

/**
 * The claims of one write of a pool; undefined for a write that takes nothing. A write that was not confirmed keeps them
 * until their leases end. Taking throws 422 quota_exceeded, 409 already_exists or operation_in_progress for the name.
 */
export function claimsOf(
  deps: Deps,
  { id: clusterId, orgId }: ProjectedCluster,
  { quota, name }: NodePoolClaim,
): Claims | undefined {
  const grows = isGrowth(quota);
  if (!grows && name === undefined) return undefined;
  const id = createId();
  const poolId = quota.objectId;
  return {
    async take(tx) {
      if (grows) await reserveQuota(tx, { orgId, defaults: deps.config.quotas }, id, [quota]);
      if (name !== undefined && !(await reserveName(tx, clusterId, name, poolId)))
        throw await nameTaken(tx, clusterId, name);
    },
    async settle(tx) {
      if (grows) await releaseQuota(tx, id);
    },
    async release(tx) {
      if (grows) await releaseQuota(tx, id);
      if (name !== undefined) await releaseName(tx, clusterId, name, poolId);
    },
  };
}

/** 409 for a name that another pool has, or that a request under way has taken. */
export async function nameTaken(db: Queryable, clusterId: string, name: string): Promise<ApiError> {
  if (await isNameInFlight(db, clusterId, name))
    return new ApiError("operation_in_progress", `A node pool named ${name} is being written right now.`, {
      retryAfterSeconds: 10,
    });
  return new ApiError("already_exists", `The cluster already has a node pool named ${name}.`, {
    details: [{ field: "name", code: "duplicate", message: "is taken" }],
  });
}

import type { NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { NO_AMOUNTS, poolAmounts } from "../../shared/crd/quota.ts";
import type { QuotaClaim } from "../quotas/index.ts";

/** What a new pool claims of the quotas. */
export function claimOfCreate(objectId: string, spec: NodePoolSpec): QuotaClaim {
  return { objectId, current: NO_AMOUNTS, desired: poolAmounts(spec) };
}

/** What a change of a pool claims. */
export function claimOfUpdate(objectId: string, before: NodePoolSpec, after: NodePoolSpec): QuotaClaim {
  return { objectId, current: poolAmounts(before), desired: poolAmounts(after) };
}

/** What the deletion of a pool frees. */
export function claimOfDelete(objectId: string, spec: NodePoolSpec): QuotaClaim {
  return { objectId, current: poolAmounts(spec), desired: NO_AMOUNTS };
}

import type { NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { NO_AMOUNTS, poolAmounts } from "../../shared/crd/quota.ts";
import type { ObjectAmounts } from "../quotas/index.ts";

/** What a new pool adds to the quotas in use. */
export function amountsOfCreate(objectId: string, spec: NodePoolSpec): ObjectAmounts {
  return { objectId, current: NO_AMOUNTS, desired: poolAmounts(spec) };
}

/** What a change of a pool adds. */
export function amountsOfUpdate(objectId: string, before: NodePoolSpec, after: NodePoolSpec): ObjectAmounts {
  return { objectId, current: poolAmounts(before), desired: poolAmounts(after) };
}

/** What the deletion of a pool frees. */
export function amountsOfDelete(objectId: string, spec: NodePoolSpec): ObjectAmounts {
  return { objectId, current: poolAmounts(spec), desired: NO_AMOUNTS };
}

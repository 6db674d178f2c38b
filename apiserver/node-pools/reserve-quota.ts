import type { NodePool, NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { NO_AMOUNTS, poolAmounts, QUOTA_NAMES } from "../../shared/crd/quota.ts";
import type { Deps } from "../deps.ts";
import { ApiError } from "../http/errors.ts";
import { createId } from "../http/id.ts";
import { type QuotaClaim, releaseQuota, reserveQuota } from "../quotas/store.ts";
import { isCertainlyNotWritten } from "../write-intents/store.ts";

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

/**
 * Runs a write with what it makes a pool grow by reserved around it; one that grows nothing asks for nothing. A write
 * that was not confirmed keeps its reservation until the lease ends. Throws 422 quota_exceeded before it writes.
 */
export async function withReservedQuota<T>(
  deps: Deps,
  orgId: string,
  claim: QuotaClaim,
  write: () => Promise<T>,
): Promise<T> {
  if (QUOTA_NAMES.every((name) => claim.wanted[name] <= claim.had[name])) return write();
  const id = createId();
  const scope = { orgId, defaults: deps.config.quotas };
  await deps.db.transaction((tx) => reserveQuota(tx, scope, id, [claim]));
  try {
    const written = await write();
    await releaseQuota(deps.db, id);
    return written;
  } catch (error) {
    if (error instanceof ApiError || isCertainlyNotWritten(error)) await releaseQuota(deps.db, id);
    throw error;
  }
}

import {
  addAmounts,
  describeShortfalls,
  findShortfalls,
  growthOf,
  mapAmounts,
  NO_AMOUNTS,
  QUOTA_NAMES,
  type QuotaAmounts,
} from "../../shared/crd/quota.ts";
import type { Queryable } from "../db/client.ts";
import { ApiError } from "../http/errors.ts";
import { readQuotas } from "../organizations/index.ts";
import { QUOTA_WIRE_NAMES, type QuotaEffect } from "./schema.ts";
import { readUses } from "./store.ts";

/** What one object counts before a write and after it. */
export interface ObjectAmounts {
  objectId: string;
  current: QuotaAmounts;
  desired: QuotaAmounts;
}

export interface QuotaScope {
  orgId: string;
  /** The limits of an organization for which none are set. */
  defaults: QuotaAmounts;
}

/** Whether a write needs more of any quota. */
export function growsQuota({ current, desired }: ObjectAmounts): boolean {
  return QUOTA_NAMES.some((name) => desired[name] > current[name]);
}

/**
 * What a write means to every quota, writes under way included. Throws 422 quota_exceeded. It holds as long as the
 * organization's row lock, under which the write's intent must be inserted.
 */
export async function assessQuota(
  db: Queryable,
  { orgId, defaults }: QuotaScope,
  changes: readonly ObjectAmounts[],
): Promise<QuotaEffect[]> {
  const { effective: limits } = await readQuotas(db, orgId, defaults);
  const { used, byObject } = await readUses(
    db,
    orgId,
    changes.map(({ objectId }) => objectId),
  );
  const growth = sum(
    changes.map(({ objectId, desired }) => growthOf(byObject.get(objectId) ?? NO_AMOUNTS, desired)),
  );
  const shortfalls = findShortfalls(limits, used, growth);
  if (shortfalls.length > 0) {
    const details = shortfalls.map(({ name, limit, used: inUse, growth: more }) => ({
      field: QUOTA_WIRE_NAMES[name],
      code: "out_of_range" as const,
      message: `the quota is ${limit}, ${inUse} in use, ${more} more requested`,
    }));
    throw new ApiError("quota_exceeded", describeShortfalls(shortfalls), { details });
  }
  const delta = sum(
    changes.map(({ current, desired }) => mapAmounts((name) => desired[name] - current[name])),
  );
  return QUOTA_NAMES.map((name) => ({
    name: QUOTA_WIRE_NAMES[name],
    limit: limits[name],
    used: used[name],
    delta: delta[name],
    projected: used[name] + delta[name],
  }));
}

function sum(amounts: readonly QuotaAmounts[]): QuotaAmounts {
  return amounts.reduce(addAmounts, NO_AMOUNTS);
}

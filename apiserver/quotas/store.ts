import { eq, sql } from "drizzle-orm";
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
import { lockOrganization, readQuotas } from "../organizations/index.ts";
import { QUOTA_WIRE_NAMES, type QuotaEffect } from "./schema.ts";
import { quotaReservations } from "./table.ts";
import { readUses } from "./use.ts";

export { dryRunQuery, type Effects, EXAMPLE_EFFECTS, effectsRecord, type NodeEffects } from "./schema.ts";

/** Longer than any request: a write whose outcome nobody knows goes on counting until its object would be seen. */
const LEASE = sql`now() + interval '10 minutes'`;

/** What one object counts before a write and after it. */
export interface QuotaClaim {
  objectId: string;
  had: QuotaAmounts;
  wanted: QuotaAmounts;
}

export interface QuotaScope {
  orgId: string;
  /** Of an organization that has no limits of its own. */
  defaults: QuotaAmounts;
}

/**
 * Checks that an organization may have what a write makes it grow by, and takes it, under the organization's row lock,
 * until `releaseQuota(id)` or the end of a lease. Taking the same again for the same objects takes nothing more.
 * Returns what the write means to every quota. Throws 422 quota_exceeded, and what lockOrganization throws.
 */
export async function reserveQuota(
  tx: Queryable,
  scope: QuotaScope,
  id: string,
  claims: readonly QuotaClaim[],
): Promise<QuotaEffect[]> {
  await lockOrganization(tx, scope.orgId);
  const assessed = await assessQuota(tx, scope, claims);
  if (claims.length === 0) return assessed;
  await tx
    .insert(quotaReservations)
    .values(
      claims.map(({ objectId, wanted }) => ({
        id,
        objectId,
        orgId: scope.orgId,
        ...wanted,
        leasedUntil: LEASE,
      })),
    )
    .onConflictDoUpdate({
      target: [quotaReservations.id, quotaReservations.objectId],
      set: { leasedUntil: LEASE },
    });
  return assessed;
}

/** The same check without taking anything: for what does not grow, and for what is only to be known. */
export async function assessQuota(
  db: Queryable,
  { orgId, defaults }: QuotaScope,
  claims: readonly QuotaClaim[],
): Promise<QuotaEffect[]> {
  const { effective: limits } = await readQuotas(db, orgId, defaults);
  const { used, byObject } = await readUses(
    db,
    orgId,
    claims.map(({ objectId }) => objectId),
  );
  const growth = sum(
    claims.map(({ objectId, wanted }) => growthOf(byObject.get(objectId) ?? NO_AMOUNTS, wanted)),
  );
  const shortfalls = findShortfalls(limits, used, growth);
  if (shortfalls.length > 0) {
    const details = shortfalls.map(({ name, limit, used: inUse, growth: more }) => ({
      field: QUOTA_WIRE_NAMES[name],
      code: "out_of_range" as const,
      message: `the quota is ${limit}, ${inUse} in use, ${more} more asked for`,
    }));
    throw new ApiError("quota_exceeded", describeShortfalls(shortfalls), { details });
  }
  const delta = sum(claims.map(({ had, wanted }) => mapAmounts((name) => wanted[name] - had[name])));
  return QUOTA_NAMES.map((name) => ({
    name: QUOTA_WIRE_NAMES[name],
    limit: limits[name],
    used: used[name],
    delta: delta[name],
    projected: used[name] + delta[name],
  }));
}

/** Lets go of what a write had taken: it is settled, or it was not made. */
export async function releaseQuota(tx: Queryable, id: string): Promise<void> {
  await tx.delete(quotaReservations).where(eq(quotaReservations.id, id));
}

/** What the organization uses, objects by kubectl and GitOps and writes under way included. */
export async function readUse(db: Queryable, orgId: string): Promise<QuotaAmounts> {
  return (await readUses(db, orgId, [])).used;
}

function sum(amounts: readonly QuotaAmounts[]): QuotaAmounts {
  return amounts.reduce(addAmounts, NO_AMOUNTS);
}

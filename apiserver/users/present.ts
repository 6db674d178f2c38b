import { createHash } from "node:crypto";
import type { z } from "@hono/zod-openapi";
import { toCreationLimit, type UserQuotaAmounts } from "./config.ts";
import type { userIdentityRecord, userQuotasRecord } from "./schema.ts";
import type { UserIdentity, UserQuotas, UserUse } from "./store.ts";

/** The wire form of the quotas of a user. */
export function presentUserQuotas(
  { userId, configured, effective, updatedAt }: UserQuotas,
  defaults: UserQuotaAmounts,
  used: UserUse,
): z.output<typeof userQuotasRecord> {
  return {
    user_id: userId,
    ...configured,
    effective: toAmounts(effective),
    defaults: toAmounts(defaults),
    used: { organizations: used.organizations, organizations_per_30_days: used.created },
    updated_at: updatedAt?.toISOString() ?? null,
  };
}

function toAmounts({ organizations }: UserQuotaAmounts) {
  return { organizations, organizations_per_30_days: toCreationLimit(organizations) };
}

/** The entity tag: the version of the limits, which If-Match compares, and a hash of what else the record shows. */
export function userQuotasTag({ version, effective }: UserQuotas, used: UserUse): string {
  const shown = JSON.stringify([effective.organizations, used.organizations, used.created]);
  return `"${version}-${createHash("sha256").update(shown).digest("hex").slice(0, 16)}"`;
}

/** The wire form of the issuer that a user id belongs to. */
export function presentUserIdentity({
  id,
  issuer,
  email,
  createdAt,
}: UserIdentity): z.output<typeof userIdentityRecord> {
  return { user_id: id, issuer, email, created_at: createdAt.toISOString() };
}

/** The entity tag: a hash of what can change. */
export function userIdentityTag({ issuer, email }: UserIdentity): string {
  const shown = JSON.stringify([issuer, email]);
  return `"${createHash("sha256").update(shown).digest("hex").slice(0, 16)}"`;
}

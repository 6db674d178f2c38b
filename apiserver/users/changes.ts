import { recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Author } from "../http/authentication/principal.ts";
import { ApiError, describeExcess, validationFailed } from "../http/errors.ts";
import { toCreationLimit, type UserQuotaAmounts } from "./config.ts";
import {
  lockUser,
  readUserIdentity,
  readUserQuotas,
  readUserUse,
  type UserIdentity,
  type UserQuotas,
  updateUserIssuer,
  updateUserQuotas,
} from "./store.ts";

/**
 * Refuses another organization to a user who has created as many as the quota allows, or within 30 days four times as
 * many with those that are deleted, for each leaves a Namespace. Holds the user's row lock until the transaction ends,
 * so that concurrent creates are counted one after the other. Throws 422 quota_exceeded.
 */
export async function requireOrganizationQuota(
  tx: Queryable,
  userId: string,
  defaults: UserQuotaAmounts,
): Promise<void> {
  await lockUser(tx, userId);
  const { effective } = await readUserQuotas(tx, userId, defaults);
  const use = await readUserUse(tx, userId);
  const limit = effective.organizations;
  if (use.organizations >= limit) {
    const message = `The quota of organizations is ${limit}, ${use.organizations} in use.`;
    const details = [describeExcess("organizations", { limit, used: use.organizations })];
    throw new ApiError("quota_exceeded", message, { details });
  }
  const created = { limit: toCreationLimit(limit), used: use.created };
  if (created.used < created.limit) return;
  throw new ApiError(
    "quota_exceeded",
    `The quota of organizations within 30 days is ${created.limit}, deleted ones included; ${created.used} were created.`,
    { details: [describeExcess("organizations_per_30_days", created)] },
  );
}

/** The quotas of a user, under the user's row lock. Throws 404. */
export async function lockUserQuotas(
  tx: Queryable,
  userId: string,
  defaults: UserQuotaAmounts,
): Promise<UserQuotas> {
  await lockUser(tx, userId);
  return readUserQuotas(tx, userId, defaults);
}

/**
 * Sets limits of a user; null is the default, `undefined` leaves one unchanged. A limit below what is in use removes
 * nothing: it only refuses more.
 */
export async function setUserQuotas(
  tx: Queryable,
  author: Author,
  { userId, before, defaults }: { userId: string; before: UserQuotas; defaults: UserQuotaAmounts },
  change: { organizations?: number | null | undefined },
): Promise<UserQuotas> {
  const limits = { ...before.configured };
  if (change.organizations !== undefined) limits.organizations = change.organizations;
  await updateUserQuotas(tx, userId, { ...limits, version: before.version + 1 });
  await recordAudit(tx, author, {
    action: "user.set_quotas",
    orgId: null,
    target: { kind: "user", id: userId },
    before: before.configured,
    after: limits,
    result: "done",
  });
  return readUserQuotas(tx, userId, defaults);
}

/** The issuer of a user, under the user's row lock. Throws 404. */
export async function lockUserIdentity(tx: Queryable, userId: string): Promise<UserIdentity> {
  await lockUser(tx, userId);
  return readUserIdentity(tx, userId);
}

/** Gives a user id to another one of the configured issuers. Throws 422 for an issuer that is not configured. */
export async function setUserIssuer(
  tx: Queryable,
  author: Author,
  { userId, before, issuers }: { userId: string; before: UserIdentity; issuers: readonly string[] },
  issuer: string,
): Promise<UserIdentity> {
  if (!issuers.includes(issuer)) {
    const message = `must be a configured issuer: ${issuers.join(", ")}`;
    throw validationFailed([{ field: "issuer", code: "invalid_enum", message }]);
  }
  if (issuer === before.issuer) return before;
  await updateUserIssuer(tx, userId, issuer);
  await recordAudit(tx, author, {
    action: "user.set_issuer",
    orgId: null,
    target: { kind: "user", id: userId },
    before: { issuer: before.issuer },
    after: { issuer },
    result: "done",
  });
  return readUserIdentity(tx, userId);
}

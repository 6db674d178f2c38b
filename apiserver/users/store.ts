import { and, eq, gte, isNull, or, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { firstIdSince } from "../db/columns.ts";
import { notFound } from "../http/errors.ts";
import { users } from "../members/index.ts";
import { organizations } from "../organizations/index.ts";
import type { UserQuotaAmounts } from "./config.ts";

/** The issuer whose tokens are accepted for a user id. */
export type UserIdentity = Pick<typeof users.$inferSelect, "id" | "issuer" | "email" | "createdAt">;

/** The quotas of one user: what staff set, and what is in force. */
export interface UserQuotas {
  userId: string;
  /** Null: the default. */
  configured: { organizations: number | null };
  effective: UserQuotaAmounts;
  version: number;
  /** When one was last set; null: never. */
  updatedAt: Date | null;
}

/** Confirms that the user has signed in once. Throws 404. */
export async function requireUser(db: Queryable, userId: string): Promise<void> {
  const [row] = await db.select({ id: users.id }).from(users).where(eq(users.id, userId));
  if (row === undefined) throw notFound("user");
}

/** Takes the user's row lock until the transaction ends, so that what the user has is counted once at a time. Throws 404. */
export async function lockUser(tx: Queryable, userId: string): Promise<void> {
  const [row] = await tx
    .select({ id: users.id })
    .from(users)
    .where(eq(users.id, userId))
    .for("no key update");
  if (row === undefined) throw notFound("user");
}

/** The quotas of a user, who may never have signed in. */
export async function readUserQuotas(
  db: Queryable,
  userId: string,
  defaults: UserQuotaAmounts,
): Promise<UserQuotas> {
  const { organizationQuota: organizations, quotaVersion: version, quotaUpdatedAt: updatedAt } = users;
  const [row] = await db
    .select({ organizations, version, updatedAt })
    .from(users)
    .where(eq(users.id, userId));
  const configured = row?.organizations ?? null;
  return {
    userId,
    configured: { organizations: configured },
    effective: { organizations: configured ?? defaults.organizations },
    version: row?.version ?? 0,
    updatedAt: row?.updatedAt ?? null,
  };
}

/** Sets the quotas of a user; null is the platform's default. */
export async function updateUserQuotas(
  tx: Queryable,
  userId: string,
  { organizations, version }: { organizations: number | null; version: number },
): Promise<void> {
  await tx
    .update(users)
    .set({ organizationQuota: organizations, quotaVersion: version, quotaUpdatedAt: sql`now()` })
    .where(eq(users.id, userId));
}

/** What of its quotas a user has in use: organizations that it has created. */
export interface UserUse {
  /** Those that are not deleted. */
  organizations: number;
  /** Those of the last 30 days, deleted ones included. */
  created: number;
}

const CREATION_DAYS = 30;

/** Counts the organizations that a user has created; a role in others does not count. */
export async function readUserUse(db: Queryable, userId: string): Promise<UserUse> {
  const isPresent = isNull(organizations.deletedAt);
  const isRecent = gte(organizations.id, firstIdSince(CREATION_DAYS));
  const [row] = await db
    .select({
      organizations: sql<number>`count(*) filter (where ${isPresent})::int`,
      created: sql<number>`count(*) filter (where ${isRecent})::int`,
    })
    .from(organizations)
    .where(and(eq(organizations.createdBy, userId), or(isPresent, isRecent)));
  return row ?? { organizations: 0, created: 0 };
}

/** The identity of a user who has signed in once. Throws 404. */
export async function readUserIdentity(db: Queryable, userId: string): Promise<UserIdentity> {
  const { id, issuer, email, createdAt } = users;
  const [row] = await db.select({ id, issuer, email, createdAt }).from(users).where(eq(users.id, userId));
  if (row === undefined) throw notFound("user");
  return row;
}

/** Gives a user id to another issuer; the address was that of the previous one's person. */
export async function updateUserIssuer(tx: Queryable, userId: string, issuer: string): Promise<void> {
  await tx
    .update(users)
    .set({ issuer, email: null, emailVerified: false, staffSeenAt: null })
    .where(eq(users.id, userId));
}

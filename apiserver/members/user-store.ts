import { and, count, eq, gt, gte, inArray, isNotNull, isNull, lt, ne, or, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { prepareStatement } from "../db/statement.ts";
import type { UserPrincipal } from "../http/authentication/principal.ts";
import type { Role } from "../http/authorization/permissions.ts";
import { organizations } from "../organizations/index.ts";
import { IS_CURRENT } from "./store.ts";
import { members, users } from "./table.ts";

/** Adds a user who is not known yet. */
export async function insertUser(db: Queryable, user: UserPrincipal): Promise<void> {
  const { userId: id, issuer, email = null, emailVerified } = user;
  await db.insert(users).values({ id, issuer, email, emailVerified }).onConflictDoNothing();
}

const selectIssuer = prepareStatement(["userId"], (db, { userId }) =>
  db.select({ issuer: users.issuer }).from(users).where(eq(users.id, userId)),
);

/** The issuer that a user id belongs to; undefined for one that was never presented. */
export async function findIssuerOf(db: Queryable, userId: string): Promise<string | undefined> {
  const [row] = await selectIssuer(db, { userId });
  return row?.issuer;
}

/** The issuer that a user id belongs to, which stays the same until the transaction ends. */
export async function lockIssuerOf(tx: Queryable, userId: string): Promise<string | undefined> {
  const rows = tx.select({ issuer: users.issuer }).from(users).where(eq(users.id, userId));
  const [row] = await rows.for("share");
  return row?.issuer;
}

/** For how many days a user who called an operation of the platform's staff counts as staff. */
const KNOWN_STAFF_DAYS = 90;

/** Records that a user has called an operation of the platform's staff; written once a day. */
export async function recordStaffUse(db: Queryable, userId: string): Promise<void> {
  await db
    .update(users)
    .set({ staffSeenAt: sql`now()` })
    .where(
      and(
        eq(users.id, userId),
        or(isNull(users.staffSeenAt), lt(users.staffSeenAt, sql`now() - interval '1 day'`)),
      ),
    );
}

/** Whether the user is one of the platform's staff: has called one of its operations within the last 90 days. */
export async function isKnownStaff(db: Queryable, userId: string): Promise<boolean> {
  const rows = await db
    .select({ id: users.id })
    .from(users)
    .where(
      and(
        eq(users.id, userId),
        gte(users.staffSeenAt, sql`now() - make_interval(days => ${KNOWN_STAFF_DAYS})`),
      ),
    );
  return rows.length > 0;
}

/** Has the invitations of a user made one after the other, until the transaction ends. */
export async function lockInviter(tx: Queryable, userId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('marina inviter ' || ${userId}, 0))`);
}

/** How many pending invitations a user has sent, in all organizations that are not deleted, without one of them. */
export async function countPendingOf(tx: Queryable, userId: string, exceptId?: string): Promise<number> {
  const [row] = await tx
    .select({ total: count() })
    .from(members)
    .innerJoin(organizations, and(eq(organizations.id, members.orgId), isNull(organizations.deletedAt)))
    .where(
      and(
        eq(members.invitedBy, userId),
        isNull(members.userId),
        gt(members.expiresAt, sql`now()`),
        exceptId === undefined ? undefined : ne(members.id, exceptId),
      ),
    );
  return row?.total ?? 0;
}

/** The roles that these users have now, in all organizations that are not deleted. */
export async function listRoles(
  db: Queryable,
  userIds: readonly string[],
): Promise<{ orgId: string; userId: string | null; role: Role }[]> {
  return db
    .select({ orgId: members.orgId, userId: members.userId, role: members.role })
    .from(members)
    .innerJoin(organizations, eq(organizations.id, members.orgId))
    .where(and(inArray(members.userId, [...new Set(userIds)]), IS_CURRENT, isNull(organizations.deletedAt)));
}

/**
 * The roles of members of these organizations by their e-mail addresses, which are given and returned in lower case.
 */
export async function listRolesByEmail(
  db: Queryable,
  orgIds: readonly string[],
  emails: readonly string[],
): Promise<{ orgId: string; email: string; role: Role }[]> {
  if (emails.length === 0) return [];
  const email = sql<string>`lower(${members.email})`;
  return db
    .select({ orgId: members.orgId, email, role: members.role })
    .from(members)
    .innerJoin(organizations, eq(organizations.id, members.orgId))
    .where(
      and(
        inArray(members.orgId, [...new Set(orgIds)]),
        inArray(email, [...new Set(emails)]),
        isNotNull(members.userId),
        IS_CURRENT,
        isNull(organizations.deletedAt),
      ),
    );
}

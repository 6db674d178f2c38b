import { and, eq, gte, isNull, lt, or, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import type { UserPrincipal } from "../http/authentication/principal.ts";
import { users } from "./table.ts";

/** Adds a user who is not known yet. */
export async function insertUser(db: Queryable, user: UserPrincipal): Promise<void> {
  const { userId: id, issuer, email = null, emailVerified } = user;
  await db.insert(users).values({ id, issuer, email, emailVerified }).onConflictDoNothing();
}

/** The issuer that a user id belongs to; undefined for one that nobody has presented. */
export async function findIssuerOf(db: Queryable, userId: string): Promise<string | undefined> {
  const [row] = await db.select({ issuer: users.issuer }).from(users).where(eq(users.id, userId));
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

/** Remembers that a user has called an operation of the platform's staff; written once a day. */
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

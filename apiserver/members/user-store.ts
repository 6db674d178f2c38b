import { eq } from "drizzle-orm";
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

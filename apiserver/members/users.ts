import { eq } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import type { UserPrincipal } from "../http/authentication/principal.ts";
import { users } from "./table.ts";

/** Records a user who signs in for the first time, and returns the issuer that presented this user id first. */
export async function bindUser(db: Queryable, user: UserPrincipal): Promise<string> {
  const { userId: id, issuer, email = null, emailVerified } = user;
  await db.insert(users).values({ id, issuer, email, emailVerified }).onConflictDoNothing();
  const [row] = await db.select({ issuer: users.issuer }).from(users).where(eq(users.id, id));
  if (row === undefined) throw new Error("a user was deleted between insert and read");
  return row.issuer;
}

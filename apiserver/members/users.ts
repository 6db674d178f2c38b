import type { Queryable } from "../db/client.ts";
import type { UserPrincipal } from "../http/authentication/principal.ts";
import { findIssuerOf, insertUser } from "./store.ts";

/** Records a user who signs in for the first time, and returns the issuer that the id belongs to. */
export async function bindUser(db: Queryable, user: UserPrincipal): Promise<string> {
  await insertUser(db, user);
  const issuer = await findIssuerOf(db, user.userId);
  if (issuer === undefined) throw new Error("a user was deleted between insert and read");
  return issuer;
}

import type { Queryable } from "../db/client.ts";
import type { UserPrincipal } from "../http/authentication/principal.ts";
import { insertUser, requireIssuerOf } from "./store.ts";

/** Records a user who signs in for the first time, and returns the issuer that presented this user id first. */
export async function bindUser(db: Queryable, user: UserPrincipal): Promise<string> {
  await insertUser(db, user);
  return requireIssuerOf(db, user.userId);
}

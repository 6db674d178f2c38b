import type { Database } from "../db/client.ts";
import type { CarriedGroups, UserPrincipal } from "../http/authentication/principal.ts";
import { takeGroups } from "./groups/settle.ts";
import type { MemberHooks } from "./hooks.ts";
import { findIssuerOf, insertUser } from "./user-store.ts";

/**
 * Records a user who signs in for the first time, and returns the issuer that the id belongs to. If that is the token's, the
 * user is a member of what the token's groups are mapped to.
 */
export async function bindUser(
  { db, hooks }: { db: Database; hooks: MemberHooks },
  user: UserPrincipal,
  groups: CarriedGroups,
): Promise<string> {
  await insertUser(db, user);
  const issuer = await findIssuerOf(db, user.userId);
  if (issuer === undefined) throw new Error("a user was deleted between insert and read");
  if (issuer === user.issuer) await takeGroups(db, hooks, user, groups);
  return issuer;
}

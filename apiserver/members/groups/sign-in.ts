import type { Database, Queryable } from "../../db/client.ts";
import type { CarriedGroups, Origin, UserPrincipal } from "../../http/authentication/principal.ts";
import type { MemberHooks } from "../hooks.ts";
import { deleteGrantsOfOthers, listDueOrganizations, renewGrants } from "./grant-store.ts";
import { inOpenOrganization, isLocked, settleMembers } from "./settle.ts";

/**
 * Makes a person who signs in a member of the organizations that the groups of the token are mapped to, or lets such a
 * membership live longer. A token without an e-mail address gives none. A group that a token lacks ends nothing: what an
 * earlier one gave ends in its own time.
 */
export async function takeGroups(
  db: Database,
  hooks: MemberHooks,
  { userId, issuer, email }: UserPrincipal,
  { names, untilMs }: CarriedGroups,
): Promise<void> {
  if (names.length === 0 || email === undefined) return;
  const carried = { userId, issuer, groups: names, until: new Date(untilMs) };
  for (const orgId of await listDueOrganizations(db, carried)) {
    await inOpenOrganization(db, orgId, async (tx) => {
      await renewGrants(tx, orgId, carried);
      await settleMembers(tx, hooks, { orgId, author: "system" }, [{ userId, email }]);
    });
  }
}

/** Ends what the groups of other issuers than this one give a user, who belongs to it from now on. */
export async function endGroupsOfOtherIssuers(
  tx: Queryable,
  hooks: MemberHooks,
  author: Origin,
  { userId, issuer }: { userId: string; issuer: string },
): Promise<{ lostIn: string[] }> {
  const lostIn: string[] = [];
  for (const orgId of await deleteGrantsOfOthers(tx, userId, issuer)) {
    // What is left of one that is being deleted ends with it, or in its own time.
    if (!(await isLocked(tx, orgId))) continue;
    const { isAccessLost } = await settleMembers(tx, hooks, { orgId, author }, [{ userId }]);
    if (isAccessLost) lostIn.push(orgId);
  }
  return { lostIn };
}

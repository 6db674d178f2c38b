import { createKeyedSlots } from "../../../shared/program/limits.ts";
import { runForTenant } from "../../../shared/program/tenant-context.ts";
import type { Database, Queryable } from "../../db/client.ts";
import type { CarriedGroups, Origin, UserPrincipal } from "../../http/authentication/principal.ts";
import { tryLockOrganization } from "../../organizations/index.ts";
import type { MemberHooks } from "../hooks.ts";
import { lockIssuerOf } from "../user-store.ts";
import {
  deleteGrantsOfOthers,
  listDueOrganizations,
  listOrganizationsOfOthers,
  renewGrants,
  type UserGroups,
} from "./grant-store.ts";
import { isLocked, settleMembers } from "./settle.ts";

/** One at a time for a user and an organization: those who waited find that nothing is due any more. */
const turns = createKeyedSlots(1);

/**
 * Makes a person who signs in a member of the organizations that the groups of the token are mapped to, or lets such a
 * membership live longer. A token without an e-mail address gives none. A group that a token lacks ends nothing: what an
 * earlier one gave ends in its own time. Where the person is a member already and the organization is being changed, its
 * time is prolonged by a later request instead. Uses the organization's share of the connections.
 */
export async function takeGroups(
  db: Database,
  hooks: MemberHooks,
  { userId, issuer, email }: UserPrincipal,
  { names, untilMs }: CarriedGroups,
): Promise<void> {
  if (names.length === 0 || email === undefined) return;
  const carried = { userId, issuer, groups: names, until: new Date(untilMs) };
  for (const { orgId } of await listDueOrganizations(db, carried))
    await runForTenant({ tenant: orgId, signal: undefined }, () =>
      takeGroupsIn(db, hooks, orgId, { ...carried, email }),
    );
}

async function takeGroupsIn(
  db: Database,
  hooks: MemberHooks,
  orgId: string,
  { email, ...carried }: UserGroups & { email: string },
): Promise<void> {
  const { userId, issuer } = carried;
  const release = await turns.take(`${userId} ${orgId}`);
  try {
    const [due] = await listDueOrganizations(db, carried, orgId);
    if (due === undefined) return;
    await db.transaction(async (tx) => {
      // The user's row first, as whoever gives the user to another issuer does.
      if ((await lockIssuerOf(tx, userId)) !== issuer) return;
      if (!(await (due.isUrgent ? isLocked : tryLockOrganization)(tx, orgId))) return;
      if ((await listDueOrganizations(tx, carried, orgId)).length === 0) return;
      await renewGrants(tx, orgId, carried);
      await settleMembers(tx, hooks, { orgId, author: "system" }, [{ userId, email }]);
    });
  } finally {
    release();
  }
}

/**
 * Ends what the groups of other issuers than this one give a user, who belongs to it from now on. Runs under the user's
 * row lock, so that no token of the previous issuer gives more.
 */
export async function endGroupsOfOtherIssuers(
  tx: Queryable,
  hooks: MemberHooks,
  author: Origin,
  { userId, issuer }: { userId: string; issuer: string },
): Promise<{ lostIn: string[] }> {
  const lostIn: string[] = [];
  const locked: string[] = [];
  // What is left in one that is being deleted ends with it, or in its own time.
  for (const orgId of await listOrganizationsOfOthers(tx, userId, issuer))
    if (await isLocked(tx, orgId)) locked.push(orgId);
  await deleteGrantsOfOthers(tx, userId, issuer);
  for (const orgId of locked) {
    const { isAccessLost } = await settleMembers(tx, hooks, { orgId, author }, [{ userId }]);
    if (isAccessLost) lostIn.push(orgId);
  }
  return { lostIn };
}

import { createKeyedSlots } from "../../../shared/program/limits.ts";
import { recordAudit } from "../../audit/index.ts";
import type { Database, Queryable } from "../../db/client.ts";
import { forTenant } from "../../db/pool.ts";
import { chunk, sendTogether } from "../../db/statement.ts";
import {
  type Author,
  type CarriedGroups,
  systemAuthor,
  type UserPrincipal,
} from "../../http/authentication/principal.ts";
import { hasPermission, type Role } from "../../http/authorization/permissions.ts";
import { ApiError } from "../../http/errors.ts";
import { lockOrganization, tryLockOrganization } from "../../organizations/index.ts";
import type { MemberHooks } from "../hooks.ts";
import { auditMember } from "../present.ts";
import type { MemberRow } from "../table.ts";
import { findIssuerOf, insertUser, lockIssuerOf } from "../user-store.ts";
import {
  deleteGrantsOfOthers,
  deleteGroupMember,
  findMembersOf,
  insertGroupMember,
  listDueOrganizations,
  listGrants,
  listOrganizationsOfOthers,
  renewGrants,
  type UserGroups,
  updateGroupMember,
} from "./store.ts";
import { strongestOf } from "./strongest.ts";

/** What the audit log calls this part of the service. */
export const GROUP_MEMBERSHIPS = "group-memberships";

/** Someone whose groups may have changed what they give, and the address of a token that carried them. */
interface GroupPerson {
  userId: string;
  email?: string;
}

/** An organization of which the row is locked, and who changed the ground of memberships: a request, or the service. */
interface SettledPlace {
  orgId: string;
  author: Author | "system";
}

/**
 * Makes the memberships of these people what their groups give now: the strongest role, until the end of the groups
 * that give it. A direct membership is left as it is. A user who is no member yet becomes one only with an address.
 * Returns whether someone can no longer access clusters. Runs under the organization's row lock.
 */
export async function settleMembers(
  tx: Queryable,
  hooks: MemberHooks,
  place: SettledPlace,
  people: readonly GroupPerson[],
): Promise<{ isAccessLost: boolean }> {
  let isAccessLost = false;
  for (const part of chunk(people)) {
    const settled = await settlePart(tx, hooks, place, part);
    isAccessLost ||= settled.isAccessLost;
  }
  return { isAccessLost };
}

async function settlePart(
  tx: Queryable,
  hooks: MemberHooks,
  place: SettledPlace,
  people: readonly GroupPerson[],
): Promise<{ isAccessLost: boolean }> {
  const { orgId } = place;
  const userIds = people.map(({ userId }) => userId);
  const [grants, rows] = await sendTogether(
    listGrants(tx, orgId, userIds),
    findMembersOf(tx, orgId, userIds),
  );
  const grantsOf = Map.groupBy(grants, ({ userId }) => userId);
  let isAccessLost = false;
  for (const { userId, email } of people) {
    const before = rows.get(userId);
    if (before?.source === "direct") continue;
    const granted = strongestOf(grantsOf.get(userId) ?? []);
    const after = await settle(tx, orgId, { userId, before, granted, email: email ?? before?.email });
    if (before?.role === after?.role) continue;
    const author = place.author === "system" ? systemAuthor(GROUP_MEMBERSHIPS, userId) : place.author;
    await recordChange(tx, author, orgId, before, after);
    const removed = after === undefined ? before : undefined;
    if (removed !== undefined)
      await hooks.onRemove(tx, orgId, { memberId: removed.id, userId, email: removed.email });
    if (!isLost(before?.role, after?.role)) continue;
    await hooks.onClusterAccessLost(tx, author, orgId, { userId, ...(removed && { memberId: removed.id }) });
    isAccessLost = true;
  }
  return { isAccessLost };
}

interface RoleChange {
  userId: string;
  before: MemberRow | undefined;
  granted: ReturnType<typeof strongestOf>;
  email: string | undefined;
}

async function settle(
  tx: Queryable,
  orgId: string,
  { userId, before, granted, email }: RoleChange,
): Promise<MemberRow | undefined> {
  if (granted === undefined) {
    if (before !== undefined) await deleteGroupMember(tx, orgId, userId);
    return undefined;
  }
  if (email === undefined) return before;
  if (before === undefined) return insertGroupMember(tx, orgId, { userId, email, ...granted });
  const isSame =
    before.role === granted.role &&
    before.email === email &&
    before.expiresAt?.getTime() === granted.expiresAt.getTime();
  return isSame ? before : updateGroupMember(tx, before, { ...granted, email });
}

/** Whether a change of roles takes the right to kubeconfigs. */
export function isLost(before: Role | undefined, after: Role | undefined): boolean {
  const opens = (role: Role | undefined) => role !== undefined && hasPermission(role, "clusters:access");
  return opens(before) && !opens(after);
}

async function recordChange(
  tx: Queryable,
  author: Author,
  orgId: string,
  before: MemberRow | undefined,
  after: MemberRow | undefined,
): Promise<void> {
  const member = after ?? before;
  if (member === undefined) return;
  const verb = before === undefined ? "add" : after === undefined ? "remove" : "update";
  await recordAudit(tx, author, {
    action: `member.${verb}`,
    orgId,
    target: { kind: "member", id: member.id },
    ...(before === undefined ? {} : { before: auditMember(before) }),
    ...(after === undefined ? {} : { after: auditMember(after) }),
    result: "done",
  });
}

/** Runs a change under an organization's row lock; undefined for one that is deleted or being deleted. */
export function inOpenOrganization<T>(
  db: Database,
  orgId: string,
  change: (tx: Queryable) => Promise<T>,
): Promise<T | undefined> {
  return db.transaction(async (tx) => ((await isLocked(tx, orgId)) ? change(tx) : undefined));
}

/** Takes an organization's row lock; false for one that is deleted or being deleted. */
async function isLocked(tx: Queryable, orgId: string): Promise<boolean> {
  try {
    await lockOrganization(tx, orgId);
    return true;
  } catch (error) {
    if (error instanceof ApiError && (error.code === "not_found" || error.code === "conflict")) return false;
    throw error;
  }
}

/** One at a time for a user and an organization: those who waited find that nothing is due any more. */
const turns = createKeyedSlots(1);

/**
 * Makes a person who signs in a member of the organizations that the groups of the token are mapped to, or lets such a
 * membership live longer. A token without an e-mail address gives none. A group that a token lacks ends nothing: what
 * an earlier one gave ends in its own time. Where the person is a member already and the organization is being changed,
 * its time is prolonged by a later request instead. Uses the organization's share of the connections.
 */
async function takeGroups(
  db: Database,
  hooks: MemberHooks,
  { userId, issuer, email }: UserPrincipal,
  { names, untilMs }: CarriedGroups,
): Promise<void> {
  if (names.length === 0 || email === undefined) return;
  const carried = { userId, issuer, groups: names, until: new Date(untilMs) };
  for (const { orgId } of await listDueOrganizations(db, carried))
    await takeGroupsIn(forTenant(db, { tenant: orgId, signal: undefined }), hooks, orgId, {
      ...carried,
      email,
    });
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
      // The user's row first, as the change of a user's issuer does.
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
  author: Author,
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

/**
 * Records a user who signs in for the first time, and returns the issuer that the id belongs to. If that is the
 * token's, the user is a member of what the token's groups are mapped to.
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

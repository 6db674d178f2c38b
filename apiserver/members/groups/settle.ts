import { createId } from "../../../shared/program/id.ts";
import { recordAudit } from "../../audit/index.ts";
import { chunk } from "../../db/chunk.ts";
import type { Database, Queryable } from "../../db/client.ts";
import { sendTogether } from "../../db/send-together.ts";
import type { Origin } from "../../http/authentication/principal.ts";
import { hasPermission, type Role } from "../../http/authorization/permissions.ts";
import { ApiError } from "../../http/errors.ts";
import { lockOrganization } from "../../organizations/index.ts";
import type { MemberHooks } from "../hooks.ts";
import { auditMember } from "../present.ts";
import type { MemberRow } from "../table.ts";
import { listGrants } from "./grant-store.ts";
import { deleteGroupMember, findMembersOf, insertGroupMember, updateGroupMember } from "./member-store.ts";
import { strongestOf } from "./strongest.ts";

/** What the audit log calls this part of the service. */
export const GROUP_MEMBERSHIPS = "group-memberships";

/** Someone whose groups may have changed what they give, and the address of a token that carried them. */
export interface GroupPerson {
  userId: string;
  email?: string;
}

/** An organization of which the row is locked, and who changed the ground of memberships: a request, or the service. */
export interface SettledPlace {
  orgId: string;
  author: Origin | "system";
}

/**
 * Makes the memberships of these people what their groups give now: the strongest role, until the end of the groups that
 * give it. A direct membership is left as it is. Whoever is no member yet becomes one only with an address. Returns
 * whether someone can no longer access clusters. Runs under the organization's row lock.
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
    const origin = place.author === "system" ? systemOrigin(userId) : place.author;
    await recordChange(tx, origin, orgId, before, after);
    const removed = after === undefined ? before : undefined;
    if (removed !== undefined)
      await hooks.onRemove(tx, orgId, { memberId: removed.id, userId, email: removed.email });
    if (!isLost(before?.role, after?.role)) continue;
    await hooks.onClusterAccessLost(tx, origin, orgId, { userId, ...(removed && { memberId: removed.id }) });
    isAccessLost = true;
  }
  return { isAccessLost };
}

interface Change {
  userId: string;
  before: MemberRow | undefined;
  granted: ReturnType<typeof strongestOf>;
  email: string | undefined;
}

async function settle(
  tx: Queryable,
  orgId: string,
  { userId, before, granted, email }: Change,
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
  origin: Origin,
  orgId: string,
  before: MemberRow | undefined,
  after: MemberRow | undefined,
): Promise<void> {
  const member = after ?? before;
  if (member === undefined) return;
  const verb = before === undefined ? "add" : after === undefined ? "remove" : "update";
  await recordAudit(tx, origin, {
    action: `member.${verb}`,
    orgId,
    target: { kind: "member", id: member.id },
    ...(before === undefined ? {} : { before: auditMember(before) }),
    ...(after === undefined ? {} : { after: auditMember(after) }),
    result: "done",
  });
}

/** The service as the author of what a user's groups cause: no request and no token stands for it. */
function systemOrigin(userId: string): Origin {
  const rights = { emailVerified: false, emailTrusted: false, roles: [], expiresAtMs: 0 };
  return {
    principal: { kind: "user", userId, issuer: "", ...rights },
    requestId: createId(),
    sourceAddress: undefined,
    asSystem: GROUP_MEMBERSHIPS,
  };
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
export async function isLocked(tx: Queryable, orgId: string): Promise<boolean> {
  try {
    await lockOrganization(tx, orgId);
    return true;
  } catch (error) {
    if (error instanceof ApiError && (error.code === "not_found" || error.code === "conflict")) return false;
    throw error;
  }
}

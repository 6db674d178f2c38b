import { type AuditEntry, recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import { uniqueViolationOf } from "../db/errors.ts";
import type { Author, Principal } from "../http/authentication/principal.ts";
import type { Membership } from "../http/authorization/permissions.ts";
import { ApiError, describeExcess, notFound } from "../http/errors.ts";
import { lockOrganization } from "../organizations/index.ts";
import { isLost } from "./groups/settle.ts";
import { deleteGroupMember } from "./groups/store.ts";
import type { MemberHooks } from "./hooks.ts";
import { auditMember } from "./present.ts";
import {
  bindInvitation,
  deleteMember,
  findPendingInvitations,
  type Invitee,
  type PendingInvitation,
  requireMember,
} from "./store.ts";
import type { MemberRow } from "./table.ts";
import { countPendingOf, lockInviter } from "./user-store.ts";

/**
 * The pending invitations of the caller's e-mail address: only a verified one, from an issuer that is trusted with it.
 */
export async function listInvitations(db: Queryable, principal: Principal): Promise<PendingInvitation[]> {
  const invitee = findInvitee(principal);
  return invitee === undefined ? [] : findPendingInvitations(db, invitee);
}

/**
 * Makes the caller a direct member by an invitation, in place of a membership by a group. Throws 404, and 409 conflict
 * for a member by another address.
 */
export async function acceptInvitation(
  tx: Queryable,
  hooks: MemberHooks,
  author: Author,
  id: string,
): Promise<{ member: MemberRow; isAccessLost: boolean }> {
  const { invitee, orgId } = await lockInvitation(tx, author, id);
  const replaced = await deleteGroupMember(tx, orgId, invitee.userId);
  const member = await bindInvitation(tx, orgId, id, invitee).catch((error: unknown) => {
    if (uniqueViolationOf(error) !== "members_org_user_key") throw error;
    throw new ApiError("conflict", "You are a member of this organization already.", { cause: error });
  });
  if (member === undefined) throw notFound("invitation");
  await recordAnswer(tx, author, {
    action: "member.accept",
    orgId,
    id,
    ...(replaced === undefined ? {} : { before: auditMember(replaced) }),
    after: auditMember(member),
  });
  const isAccessLost = isLost(replaced?.role, member.role);
  if (isAccessLost) await hooks.onClusterAccessLost(tx, author, orgId, { userId: invitee.userId });
  return { member, isAccessLost };
}

/** Removes an invitation of the caller. Throws 404. */
export async function declineInvitation(tx: Queryable, author: Author, id: string): Promise<void> {
  const { orgId, email, role } = await lockInvitation(tx, author, id);
  await deleteMember(tx, orgId, id);
  await recordAnswer(tx, author, { action: "member.decline", orgId, id, before: { email, role } });
}

/**
 * Refuses an invitation of the own address by a member by a group, for whom it would make a membership that outlives
 * the group. Throws 403.
 */
export async function requireOtherAddress(
  tx: Queryable,
  { principal }: Author,
  { orgId, memberId, source }: Membership,
  email: string,
): Promise<void> {
  if (source !== "group") return;
  const own = [principal.kind === "user" ? principal.email : undefined];
  own.push((await requireMember(tx, orgId, memberId)).email);
  if (!own.some((address) => address?.toLowerCase() === email.toLowerCase())) return;
  throw new ApiError(
    "forbidden",
    "A member by a group of the identity provider cannot invite the own address; another member can.",
  );
}

/**
 * Refuses one more invitation of a user who has `limit` pending ones, in all organizations; an API token's are its
 * creator's. Holds a lock on the user's invitations until the transaction ends. Throws 422 quota_exceeded. Nothing of
 * it depends on what others have sent to the same address.
 */
export async function requireInvitationQuota(
  tx: Queryable,
  { userId }: Principal,
  limit: number,
  resentId?: string,
): Promise<void> {
  await lockInviter(tx, userId);
  const pending = await countPendingOf(tx, userId, resentId);
  if (pending < limit) return;
  const detail = describeExcess("pending_invitations", { limit, used: pending });
  throw new ApiError("quota_exceeded", `${detail.field}: ${detail.message}.`, { details: [detail] });
}

async function lockInvitation(tx: Queryable, { principal }: Author, id: string) {
  const invitee = findInvitee(principal);
  if (invitee === undefined) throw notFound("invitation");
  const [found] = await findPendingInvitations(tx, invitee, id);
  if (found === undefined) throw notFound("invitation");
  await lockOrganization(tx, found.orgId);
  // It may have been answered or withdrawn until the lock was held.
  const [invitation] = await findPendingInvitations(tx, invitee, id);
  if (invitation === undefined) throw notFound("invitation");
  return { invitee, ...invitation };
}

function findInvitee(principal: Principal): Invitee | undefined {
  if (principal.kind !== "user" || !principal.emailTrusted || principal.email === undefined) return undefined;
  return { userId: principal.userId, email: principal.email };
}

/** Without the address of the client: until the answer, the person is none of the organization's. */
async function recordAnswer(
  tx: Queryable,
  author: Author,
  { id, ...entry }: Omit<AuditEntry, "target" | "result"> & { id: string },
): Promise<void> {
  const unlocated = { ...author, sourceAddress: undefined };
  await recordAudit(tx, unlocated, { ...entry, target: { kind: "member", id }, result: "done" });
}

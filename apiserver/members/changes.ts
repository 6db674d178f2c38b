import { recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Author } from "../http/authentication/principal.ts";
import type { Role } from "../http/authorization/permissions.ts";
import { ApiError } from "../http/errors.ts";
import { auditMember } from "./present.ts";
import { deleteMember, hasOtherOwner, insertInvitation, renewInvitation, updateRole } from "./store.ts";
import type { MemberRow } from "./table.ts";

/**
 * Invites an e-mail address. These changes run under the organization's row lock, so that no two of one organization
 * ever run at once. Throws 409 already_exists for one that is a member or invited
 * already.
 */
export async function inviteMember(
  tx: Queryable,
  author: Author,
  orgId: string,
  invitation: { id: string; email: string; role: Role },
): Promise<MemberRow> {
  const member = await insertInvitation(tx, orgId, { ...invitation, invitedBy: author.principal.userId });
  await recordChange(tx, author, "member.invite", { after: member });
  return member;
}

/** Restarts the 14 days of an invitation. Throws 409 conflict for one that was accepted, and 409 managed_elsewhere. */
export async function resendInvitation(tx: Queryable, author: Author, before: MemberRow): Promise<MemberRow> {
  requireDirect(before);
  if (before.userId !== null) throw new ApiError("conflict", "This invitation has been accepted.");
  const after = await renewInvitation(tx, before.orgId, before.id, author.principal.userId);
  await recordChange(tx, author, "member.resend", { before, after });
  return after;
}

/** Gives a member another role. Throws 409 last_owner, and 409 managed_elsewhere for one by a group. */
export async function changeRole(
  tx: Queryable,
  author: Author,
  before: MemberRow,
  role: Role,
): Promise<MemberRow> {
  requireDirect(before);
  await requireOtherOwner(tx, before);
  const after = await updateRole(tx, before.orgId, before.id, role);
  await recordChange(tx, author, "member.update", { before, after });
  return after;
}

/**
 * Removes a member, or withdraws an invitation. Throws 409 last_owner, and 409 managed_elsewhere for one by a group.
 */
export async function removeMember(tx: Queryable, author: Author, before: MemberRow): Promise<void> {
  requireDirect(before);
  await requireOtherOwner(tx, before);
  await deleteMember(tx, before.orgId, before.id);
  await recordChange(tx, author, "member.remove", { before });
}

/** What a group gives would come back with the next token. */
function requireDirect({ source }: MemberRow): void {
  if (source === "direct") return;
  throw new ApiError(
    "managed_elsewhere",
    "This membership comes from a group of the identity provider; change the person's groups there.",
  );
}

/** An organization keeps at least one owner who has accepted. */
async function requireOtherOwner(tx: Queryable, member: MemberRow): Promise<void> {
  if (member.role !== "owner" || member.userId === null) return;
  if (await hasOtherOwner(tx, member.orgId, member.id)) return;
  throw new ApiError("last_owner", "An organization needs at least one owner.");
}

async function recordChange(
  tx: Queryable,
  author: Author,
  action: string,
  change: { before: MemberRow; after?: MemberRow } | { before?: never; after: MemberRow },
): Promise<void> {
  const { id, orgId } = change.before ?? change.after;
  await recordAudit(tx, author, {
    action,
    orgId,
    target: { kind: "member", id },
    ...(change.before === undefined ? {} : { before: auditMember(change.before) }),
    ...(change.after === undefined ? {} : { after: auditMember(change.after) }),
    result: "done",
  });
}

import { and, eq, isNotNull, ne, sql } from "drizzle-orm";
import { revokeTokensOf } from "../api-tokens/store.ts";
import { recordAudit } from "../audit/store.ts";
import { revokeAccessesOf } from "../cluster-accesses/store.ts";
import type { Queryable } from "../db/client.ts";
import { uniqueViolationOf } from "../db/errors.ts";
import type { Deps } from "../deps.ts";
import type { Origin, Role } from "../http/authentication/principal.ts";
import { hasPermission } from "../http/authorization/permissions.ts";
import { requireMatch, versionTag } from "../http/contract/etag.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { lockOrganization } from "../organizations/store.ts";
import { INVITATION_DAYS } from "./invitations.ts";
import { presentAudit } from "./schema.ts";
import { findMember } from "./store.ts";
import { type MemberRow, members } from "./table.ts";

const INVITATION_ENDS = sql`now() + make_interval(days => ${INVITATION_DAYS})`;

/** Which member is meant, and in which version. */
export interface MemberTarget {
  orgId: string;
  memberId: string;
  ifMatch: string | undefined;
}

/** Looks at the member under the organization's lock, before anything is written. Throws to refuse. */
export type Examine = (member: MemberRow) => void;

/** Invites an address. Throws 409 already_exists for one that is a member or invited already. */
export async function inviteMember<T>(
  deps: Deps,
  origin: Origin,
  input: { id: string; orgId: string; email: string; role: Role },
  finish: (tx: Queryable, row: MemberRow) => Promise<T>,
): Promise<T> {
  try {
    return await deps.db.transaction(async (tx) => {
      await lockOrganization(tx, input.orgId);
      const [row] = await tx
        .insert(members)
        .values({ ...input, invitedBy: origin.principal.userId, expiresAt: INVITATION_ENDS })
        .returning();
      if (row === undefined) throw new Error("an insert returned no row");
      await record(tx, origin, "member.invite", { after: row });
      return finish(tx, row);
    });
  } catch (error) {
    if (uniqueViolationOf(error) !== "members_org_email") throw error;
    throw new ApiError("already_exists", `${input.email} is a member or invited already.`, {
      details: [{ field: "email", code: "duplicate", message: "is a member or invited already" }],
      cause: error,
    });
  }
}

/** Lets an invitation run for another 14 days. Throws 404, and 409 conflict for one that was accepted. */
export async function renewInvitation<T>(
  deps: Deps,
  origin: Origin,
  target: MemberTarget,
  examine: Examine,
  finish: (tx: Queryable, row: MemberRow) => Promise<T>,
): Promise<T> {
  return changeMember(deps, target, async (tx, before) => {
    examine(before);
    if (before.userId !== null) throw new ApiError("conflict", "This invitation has been accepted.");
    const row = await update(tx, before.id, { expiresAt: INVITATION_ENDS });
    await record(tx, origin, "member.resend", { before, after: row });
    return finish(tx, row);
  });
}

/**
 * Gives a member another role; one that opens no cluster ends the accesses that were issued to the member. Throws 404, 412, what `examine` throws, and 409 last_owner: the rule is checked under
 * the organization's row lock, so that two owners cannot demote each other at once.
 */
export async function changeRole(
  deps: Deps,
  origin: Origin,
  target: MemberTarget & { role: Role | undefined },
  examine: Examine,
): Promise<MemberRow> {
  let isChanged = false;
  const member = await changeMember(deps, target, async (tx, before) => {
    const { role } = target;
    if (role === undefined || role === before.role) return before;
    examine(before);
    await requireAnotherOwner(tx, before);
    const row = await update(tx, before.id, { role });
    await record(tx, origin, "member.update", { before, after: row });
    isChanged = true;
    return row;
  });
  if (isChanged && !hasPermission(member.role, "clusters:access")) await revokeAccesses(deps, member);
  return member;
}

/**
 * Removes a member or takes an invitation back; the member's API tokens and accesses to clusters end with it. Throws
 * as changeRole does.
 */
export async function removeMember(
  deps: Deps,
  origin: Origin,
  target: MemberTarget,
  examine: Examine,
): Promise<void> {
  const removed = await changeMember(deps, target, async (tx, before) => {
    examine(before);
    await requireAnotherOwner(tx, before);
    await tx.delete(members).where(eq(members.id, before.id));
    if (before.userId !== null) {
      await revokeTokensOf(tx, { orgId: before.orgId, createdBy: before.userId });
    }
    await record(tx, origin, "member.remove", { before });
    return before;
  });
  await revokeAccesses(deps, removed);
}

/** After the commit: whoever is issued an access beside it looks once more whether the holder is still a member. */
async function revokeAccesses(deps: Deps, { orgId, userId }: MemberRow): Promise<void> {
  if (userId !== null) await revokeAccessesOf(deps, { orgId, userId });
}

async function changeMember<T>(
  deps: Deps,
  target: MemberTarget,
  change: (tx: Queryable, before: MemberRow) => Promise<T>,
): Promise<T> {
  return deps.db.transaction(async (tx) => {
    await lockOrganization(tx, target.orgId);
    const before = await findMember(tx, target.orgId, target.memberId);
    if (before === undefined) throw notFound("member");
    requireMatch(target.ifMatch, versionTag(before.version));
    return change(tx, before);
  });
}

async function update(
  tx: Queryable,
  id: string,
  values: { role?: Role; expiresAt?: typeof INVITATION_ENDS },
): Promise<MemberRow> {
  const [row] = await tx
    .update(members)
    .set({ ...values, version: sql`${members.version} + 1` })
    .where(eq(members.id, id))
    .returning();
  if (row === undefined) throw notFound("member");
  return row;
}

/** An organization keeps at least one owner who has accepted. */
async function requireAnotherOwner(tx: Queryable, member: MemberRow): Promise<void> {
  if (member.role !== "owner" || member.userId === null) return;
  const [other] = await tx
    .select({ id: members.id })
    .from(members)
    .where(
      and(
        eq(members.orgId, member.orgId),
        eq(members.role, "owner"),
        isNotNull(members.userId),
        ne(members.id, member.id),
      ),
    )
    .limit(1);
  if (other === undefined) throw new ApiError("last_owner", "An organization needs at least one owner.");
}

async function record(
  tx: Queryable,
  origin: Origin,
  action: string,
  change: { before?: MemberRow; after?: MemberRow },
): Promise<void> {
  const member = change.after ?? change.before;
  if (member === undefined) throw new Error("a change of nothing");
  await recordAudit(tx, origin, {
    action,
    orgId: member.orgId,
    target: { kind: "member", id: member.id },
    ...(change.before === undefined ? {} : { before: presentAudit(change.before) }),
    ...(change.after === undefined ? {} : { after: presentAudit(change.after) }),
    result: "done",
  });
}

import { recordAudit } from "../audit/index.ts";
import { uniqueViolationOf } from "../db/errors.ts";
import type { Deps } from "../deps.ts";
import type { Origin, UserPrincipal } from "../http/authentication/principal.ts";
import type { Membership } from "../http/authorization/membership.ts";
import { auditMember } from "./present.ts";
import { bindInvitation, findMembership, findPendingInvitations } from "./store.ts";

/**
 * Accepts the pending invitations of the caller's e-mail address: all of them, or that to one organization. Only a
 * verified address counts, and only from an issuer that is trusted with addresses.
 */
export async function acceptInvitations(
  deps: Pick<Deps, "db">,
  origin: Origin,
  orgId?: string,
): Promise<void> {
  const { principal } = origin;
  if (principal.kind !== "user" || !principal.emailTrusted || principal.email === undefined) return;
  const { userId, email } = principal;
  for (const id of await findPendingInvitations(deps.db, orgId, { userId, email })) {
    try {
      await acceptInvitation(deps, origin, id, { userId, email });
    } catch (error) {
      // A concurrent request made the same user a member by another address.
      if (uniqueViolationOf(error) !== "members_org_user_key") throw error;
    }
  }
}

/**
 * A user's membership of an organization that is not deleted. Without one, a pending invitation is accepted first when
 * the origin of the request is known.
 */
export async function findOrAcceptMembership(
  deps: Pick<Deps, "db">,
  { userId }: UserPrincipal,
  orgId: string,
  origin: Origin | undefined,
): Promise<Membership | undefined> {
  const membership = await findMembership(deps.db, orgId, userId);
  if (membership !== undefined || origin === undefined) return membership;
  await acceptInvitations(deps, origin, orgId);
  // Read again in any case: a concurrent request may have accepted it.
  return findMembership(deps.db, orgId, userId);
}

async function acceptInvitation(
  deps: Pick<Deps, "db">,
  origin: Origin,
  memberId: string,
  user: { userId: string; email: string },
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const member = await bindInvitation(tx, memberId, user);
    if (member === undefined) return;
    await recordAudit(tx, origin, {
      action: "member.accept",
      orgId: member.orgId,
      target: { kind: "member", id: member.id },
      after: auditMember(member),
      result: "done",
    });
  });
}

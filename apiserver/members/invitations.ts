import { and, eq, gt, isNull, sql } from "drizzle-orm";
import { recordAudit } from "../audit/store.ts";
import { uniqueViolationOf } from "../db/errors.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { organizations } from "../organizations/store.ts";
import { presentAudit } from "./schema.ts";
import { members } from "./table.ts";

/** How long an invitation waits for its person. */
export const INVITATION_DAYS = 14;

/**
 * Binds the invitations that wait for this person's address to this person: all of them, or that of one organization.
 * Only a verified address counts, and only from an issuer whose word on addresses is trusted.
 */
export async function acceptInvitations(
  deps: Pick<Deps, "db">,
  origin: Origin,
  orgId?: string,
): Promise<void> {
  const { principal } = origin;
  if (principal.kind !== "user" || !principal.emailTrusted || principal.email === undefined) return;
  const { userId, email } = principal;
  const waiting = await deps.db
    .select({ id: members.id })
    .from(members)
    .innerJoin(organizations, and(eq(organizations.id, members.orgId), isNull(organizations.deletedAt)))
    .where(
      and(
        isOpenFor(email),
        orgId === undefined ? undefined : eq(members.orgId, orgId),
        sql`not exists (select 1 from ${members} as other
          where other.org_id = ${members.orgId} and other.user_id = ${userId})`,
      ),
    );
  for (const { id } of waiting) {
    try {
      await accept(deps, origin, { id, userId, email });
    } catch (error) {
      // A request beside this one made the same person a member by another address.
      if (uniqueViolationOf(error) !== "members_org_user") throw error;
    }
  }
}

async function accept(
  deps: Pick<Deps, "db">,
  origin: Origin,
  invitation: { id: string; userId: string; email: string },
): Promise<void> {
  const { id, userId, email } = invitation;
  await deps.db.transaction(async (tx) => {
    const [row] = await tx
      .update(members)
      .set({ userId, acceptedAt: sql`now()`, expiresAt: null, version: sql`${members.version} + 1` })
      .where(and(eq(members.id, id), isOpenFor(email)))
      .returning();
    if (row === undefined) return;
    await recordAudit(tx, origin, {
      action: "member.accept",
      orgId: row.orgId,
      target: { kind: "member", id },
      after: presentAudit(row),
      result: "done",
    });
  });
}

function isOpenFor(email: string) {
  return and(
    sql`lower(${members.email}) = lower(${email})`,
    isNull(members.userId),
    gt(members.expiresAt, sql`now()`),
  );
}

import { and, count, eq, gt, isNull, ne, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { organizations } from "../organizations/index.ts";
import { members } from "./table.ts";

/** Has the invitations of a user made one after the other, until the transaction ends. */
export async function lockInviter(tx: Queryable, userId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('marina inviter ' || ${userId}, 0))`);
}

/** How many pending invitations a user has sent, in all organizations that are not deleted, without one of them. */
export async function countPendingOf(tx: Queryable, userId: string, exceptId?: string): Promise<number> {
  const [row] = await tx
    .select({ total: count() })
    .from(members)
    .innerJoin(organizations, and(eq(organizations.id, members.orgId), isNull(organizations.deletedAt)))
    .where(
      and(
        eq(members.invitedBy, userId),
        isNull(members.userId),
        gt(members.expiresAt, sql`now()`),
        exceptId === undefined ? undefined : ne(members.id, exceptId),
      ),
    );
  return row?.total ?? 0;
}

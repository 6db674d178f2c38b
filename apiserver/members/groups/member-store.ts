import { and, asc, eq, inArray, isNull, lte, sql } from "drizzle-orm";
import { createId } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import { organizations } from "../../organizations/index.ts";
import { type MemberRow, members } from "../table.ts";
import type { Grant } from "./strongest.ts";

/** The members of an organization, by group or not, who are these users; by user id. */
export async function findMembersOf(
  tx: Queryable,
  orgId: string,
  userIds: readonly string[],
): Promise<Map<string | null, MemberRow>> {
  const rows = await tx
    .select()
    .from(members)
    .where(and(eq(members.orgId, orgId), inArray(members.userId, [...userIds])));
  return new Map(rows.map((row) => [row.userId, row]));
}

/** Adds a member by a group. */
export async function insertGroupMember(
  tx: Queryable,
  orgId: string,
  member: Grant & { userId: string; email: string },
): Promise<MemberRow> {
  const [row] = await tx
    .insert(members)
    .values({ id: createId(), orgId, source: "group", ...member })
    .returning();
  if (row === undefined) throw new Error("an insert returned no row");
  return row;
}

/** Changes a member by a group. */
export async function updateGroupMember(
  tx: Queryable,
  before: MemberRow,
  values: Grant & { email: string },
): Promise<MemberRow> {
  const [row] = await tx
    .update(members)
    .set({ ...values, version: sql`${members.version} + 1` })
    .where(and(eq(members.orgId, before.orgId), eq(members.id, before.id), eq(members.source, "group")))
    .returning();
  if (row === undefined) throw new Error("a member by a group was changed without the lock");
  return row;
}

/** Removes a user's membership by a group; undefined when there is none. */
export async function deleteGroupMember(
  tx: Queryable,
  orgId: string,
  userId: string,
): Promise<MemberRow | undefined> {
  const [row] = await tx
    .delete(members)
    .where(and(eq(members.orgId, orgId), eq(members.userId, userId), eq(members.source, "group")))
    .returning();
  return row;
}

/** Members by a group whose time is over, in organizations that are not deleted; those that ended first, first. */
export async function listLapsed(db: Queryable, limit: number): Promise<{ orgId: string; userId: string }[]> {
  const rows = await db
    .select({ orgId: members.orgId, userId: members.userId })
    .from(members)
    .innerJoin(organizations, and(eq(organizations.id, members.orgId), isNull(organizations.deletedAt)))
    .where(and(eq(members.source, "group"), lte(members.expiresAt, sql`now()`)))
    .orderBy(asc(members.expiresAt))
    .limit(limit);
  return rows.flatMap(({ orgId, userId }) => (userId === null ? [] : [{ orgId, userId }]));
}

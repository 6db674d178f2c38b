import { and, asc, eq, gt, inArray, isNull, lt, lte, ne, or, sql } from "drizzle-orm";
import { createId } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import { organizations } from "../../organizations/index.ts";
import { type MemberRow, members } from "../table.ts";
import type { Grant } from "./strongest.ts";
import { groupGrants, groupMappings } from "./table.ts";

/** Groups of one issuer that a user's token carries, and until when what they give lives. */
export interface UserGroups {
  userId: string;
  issuer: string;
  groups: readonly string[];
  until: Date;
}

/**
 * The organizations, or the one, in which these groups give more than is recorded, ordered by id: a longer time, or,
 * which is urgent, a membership or a role that is not there.
 */
export async function listDueOrganizations(
  db: Queryable,
  { userId, issuer, groups, until }: UserGroups,
  orgId?: string,
): Promise<{ orgId: string; isUrgent: boolean }[]> {
  const hasEnded = or(isNull(members.id), lte(members.expiresAt, sql`now()`));
  const isNew = or(isNull(groupGrants.expiresAt), lte(groupGrants.expiresAt, sql`now()`));
  const isUrgent = or(hasEnded, and(eq(members.source, "group"), isNew));
  return db
    .select({ orgId: groupMappings.orgId, isUrgent: sql<boolean>`coalesce(bool_or(${isUrgent}), false)` })
    .from(groupMappings)
    .innerJoin(organizations, and(eq(organizations.id, groupMappings.orgId), isNull(organizations.deletedAt)))
    .leftJoin(groupGrants, and(eq(groupGrants.mappingId, groupMappings.id), eq(groupGrants.userId, userId)))
    .leftJoin(members, and(eq(members.orgId, groupMappings.orgId), eq(members.userId, userId)))
    .where(
      and(
        eq(groupMappings.issuer, issuer),
        inArray(groupMappings.group, [...groups]),
        orgId === undefined ? undefined : eq(groupMappings.orgId, orgId),
        or(isNull(groupGrants.expiresAt), lt(groupGrants.expiresAt, until), hasEnded),
      ),
    )
    .groupBy(groupMappings.orgId)
    .orderBy(groupMappings.orgId);
}

/** Records that a token carried these groups: what they give in the organization never ends earlier than before. */
export async function renewGrants(
  tx: Queryable,
  orgId: string,
  { userId, issuer, groups, until }: UserGroups,
): Promise<void> {
  const mappings = await tx
    .select({ id: groupMappings.id })
    .from(groupMappings)
    .where(
      and(
        eq(groupMappings.orgId, orgId),
        eq(groupMappings.issuer, issuer),
        inArray(groupMappings.group, [...groups]),
      ),
    );
  if (mappings.length === 0) return;
  await tx
    .insert(groupGrants)
    .values(mappings.map(({ id }) => ({ mappingId: id, userId, orgId, expiresAt: until })))
    .onConflictDoUpdate({
      target: [groupGrants.mappingId, groupGrants.userId],
      set: { expiresAt: sql`greatest(${groupGrants.expiresAt}, excluded.expires_at)` },
    });
}

/** What groups give these users in the organization now. */
export async function listGrants(
  tx: Queryable,
  orgId: string,
  userIds: readonly string[],
): Promise<(Grant & { userId: string })[]> {
  const { userId, expiresAt } = groupGrants;
  return tx
    .select({ userId, expiresAt, role: groupMappings.role })
    .from(groupGrants)
    .innerJoin(groupMappings, eq(groupMappings.id, groupGrants.mappingId))
    .where(
      and(
        eq(groupGrants.orgId, orgId),
        inArray(groupGrants.userId, [...userIds]),
        gt(groupGrants.expiresAt, sql`now()`),
      ),
    );
}

/** The users to whom a mapping gives something. */
export async function listGrantees(tx: Queryable, orgId: string, mappingId: string): Promise<string[]> {
  const rows = await tx
    .select({ userId: groupGrants.userId })
    .from(groupGrants)
    .where(and(eq(groupGrants.orgId, orgId), eq(groupGrants.mappingId, mappingId)));
  return rows.map(({ userId }) => userId);
}

/** The organizations in which groups of other issuers than this one give a user something, ordered by id. */
export async function listOrganizationsOfOthers(
  tx: Queryable,
  userId: string,
  issuer: string,
): Promise<string[]> {
  const rows = await tx
    .selectDistinctOn([groupGrants.orgId], { orgId: groupGrants.orgId })
    .from(groupGrants)
    .where(isOfOthers(tx, userId, issuer))
    .orderBy(groupGrants.orgId);
  return rows.map(({ orgId }) => orgId);
}

/** Forgets what groups of other issuers than this one give a user. */
export async function deleteGrantsOfOthers(tx: Queryable, userId: string, issuer: string): Promise<void> {
  await tx.delete(groupGrants).where(isOfOthers(tx, userId, issuer));
}

function isOfOthers(tx: Queryable, userId: string, issuer: string) {
  const others = tx
    .select({ id: groupMappings.id })
    .from(groupMappings)
    .where(ne(groupMappings.issuer, issuer));
  return and(eq(groupGrants.userId, userId), inArray(groupGrants.mappingId, others));
}

/** Forgets what groups gave until now. */
export async function purgeGrants(db: Queryable): Promise<void> {
  await db.delete(groupGrants).where(lte(groupGrants.expiresAt, sql`now()`));
}

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

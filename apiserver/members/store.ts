import { and, asc, eq, gt, inArray, isNull, sql } from "drizzle-orm";
import { createId, NIL_ID } from "../../shared/id.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Membership, Origin, Role, UserPrincipal } from "../http/authentication/principal.ts";
import { rightsOf } from "../http/authorization/permissions.ts";
import type { PageRequest } from "../http/contract/page.ts";
import {
  organizations,
  type PresentedOrganization,
  presentedColumns,
  recordColumns,
} from "../organizations/store.ts";
import { acceptInvitations } from "./invitations.ts";
import { type MemberRow, members, users } from "./table.ts";

export { acceptInvitations } from "./invitations.ts";
export { type MemberRow, members } from "./table.ts";

/** A user's membership of an organization that is not deleted. */
export async function findMembership(
  deps: Pick<Deps, "db">,
  userId: string,
  orgId: string,
): Promise<Membership | undefined> {
  const [row] = await deps.db
    .select({ memberId: members.id, role: members.role, organization: recordColumns })
    .from(members)
    .innerJoin(organizations, eq(organizations.id, members.orgId))
    .where(and(eq(members.orgId, orgId), eq(members.userId, userId), isNull(organizations.deletedAt)));
  if (row === undefined) return undefined;
  const { memberId, role, organization } = row;
  return { memberId, orgId, organization, role, rights: rightsOf(role) };
}

/** The same; on a miss, an invitation that waits for this person is accepted first. */
export async function findOrAcceptMembership(
  deps: Pick<Deps, "db">,
  { userId }: UserPrincipal,
  orgId: string,
  origin: Origin | undefined,
): Promise<Membership | undefined> {
  const membership = await findMembership(deps, userId, orgId);
  if (membership !== undefined || origin === undefined) return membership;
  await acceptInvitations(deps, origin, orgId);
  // Asked again in any case: a request beside this one may have been the one that accepted.
  return findMembership(deps, userId, orgId);
}

/** The members of an organization, invited ones too, in the order of their id; one row more than `limit`. */
export async function listMembers(deps: Deps, orgId: string, page: PageRequest): Promise<MemberRow[]> {
  return deps.db
    .select()
    .from(members)
    .where(and(eq(members.orgId, orgId), page.cursor === undefined ? undefined : gt(members.id, page.cursor)))
    .orderBy(asc(members.id))
    .limit(page.limit + 1);
}

/** One member of an organization. */
export async function findMember(
  db: Queryable,
  orgId: string,
  memberId: string,
): Promise<MemberRow | undefined> {
  const [row] = await db
    .select()
    .from(members)
    .where(and(eq(members.orgId, orgId), eq(members.id, memberId)));
  return row;
}

/** The roles that these users hold now, in all organizations that are not deleted. */
export async function findRoles(
  db: Queryable,
  userIds: readonly string[],
): Promise<{ orgId: string; userId: string | null; role: Role }[]> {
  return db
    .select({ orgId: members.orgId, userId: members.userId, role: members.role })
    .from(members)
    .innerJoin(organizations, eq(organizations.id, members.orgId))
    .where(and(inArray(members.userId, [...new Set(userIds)]), isNull(organizations.deletedAt)));
}

/** The addresses of those of these users who are members of the organization, by user id. */
export async function findEmails(
  db: Queryable,
  orgId: string,
  userIds: readonly string[],
): Promise<Map<string, string>> {
  if (userIds.length === 0) return new Map();
  const rows = await db
    .select({ userId: members.userId, email: members.email })
    .from(members)
    .where(and(eq(members.orgId, orgId), inArray(members.userId, [...new Set(userIds)])));
  return new Map(rows.map(({ userId, email }) => [userId ?? "", email]));
}

export interface MembershipOf {
  orgId: string;
  name: string;
  slug: string;
  role: Role;
}

/** All organizations of a user with the role held there, in the order of the organizations' ids. */
export async function listMembershipsOf(deps: Deps, userId: string): Promise<MembershipOf[]> {
  return deps.db
    .select({ orgId: members.orgId, name: organizations.name, slug: organizations.slug, role: members.role })
    .from(members)
    .innerJoin(organizations, eq(organizations.id, members.orgId))
    .where(and(eq(members.userId, userId), isNull(organizations.deletedAt)))
    .orderBy(organizations.id);
}

/** The organizations that the user is a member of, in the order of their id; one row more than `limit`. */
export async function listOrganizationsOf(
  deps: Deps,
  userId: string,
  { cursor = NIL_ID, limit }: PageRequest,
): Promise<PresentedOrganization[]> {
  return deps.db
    .select(presentedColumns)
    .from(members)
    .innerJoin(organizations, eq(organizations.id, members.orgId))
    .where(
      and(
        eq(members.userId, userId),
        isNull(organizations.deletedAt),
        gt(members.orgId, cursor),
        // Postgres does not derive it from the join, and would read all organizations before the page: 1.85 ms for 1.28.
        gt(organizations.id, cursor),
      ),
    )
    .orderBy(asc(members.orgId))
    .limit(limit + 1);
}

/** Makes the first owner of a new organization. */
export async function insertOwner(
  tx: Queryable,
  owner: { orgId: string; userId: string; email: string },
): Promise<void> {
  await tx.insert(members).values({ id: createId(), role: "owner", acceptedAt: sql`now()`, ...owner });
}

/**
 * Remembers a user at the first sight and returns the issuer that the id belongs to: the one that presented it first.
 */
export async function bindUser(deps: Pick<Deps, "db">, user: UserPrincipal): Promise<string> {
  const { userId: id, issuer, email = null, emailVerified } = user;
  await deps.db.insert(users).values({ id, issuer, email, emailVerified }).onConflictDoNothing();
  const [row] = await deps.db.select({ issuer: users.issuer }).from(users).where(eq(users.id, id));
  if (row === undefined) throw new Error("a user vanished between insert and read");
  return row.issuer;
}

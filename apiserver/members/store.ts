import { and, asc, eq, gt, isNull, sql } from "drizzle-orm";
import { prepareOnce, type Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import { createId } from "../http/id.ts";
import type { PageRequest } from "../http/page.ts";
import type { Membership, Principal, Role, UserPrincipal } from "../http/principal.ts";
import { type OrganizationRow, organizations } from "../organizations/store.ts";
import { members, users } from "./table.ts";

const findMembershipQuery = prepareOnce((db) =>
  db
    .select({ memberId: members.id, orgId: members.orgId, role: members.role })
    .from(members)
    .innerJoin(organizations, eq(organizations.id, members.orgId))
    .where(
      and(
        eq(members.orgId, sql.placeholder("orgId")),
        eq(members.userId, sql.placeholder("userId")),
        isNull(organizations.deletedAt),
      ),
    )
    .prepare("find_membership"),
);

/** The principal's membership of an organization that is not deleted. */
export async function findMembership(
  deps: Pick<Deps, "db">,
  principal: Principal,
  orgId: string,
): Promise<Membership | undefined> {
  const [row] = await findMembershipQuery(deps.db).execute({ orgId, userId: principal.userId });
  return row;
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
  page: PageRequest,
): Promise<OrganizationRow[]> {
  const rows = await deps.db
    .select({ organization: organizations })
    .from(members)
    .innerJoin(organizations, eq(organizations.id, members.orgId))
    .where(
      and(
        eq(members.userId, userId),
        isNull(organizations.deletedAt),
        page.cursor === undefined ? undefined : gt(organizations.id, page.cursor),
      ),
    )
    .orderBy(asc(organizations.id))
    .limit(page.limit + 1);
  return rows.map((row) => row.organization);
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

import { and, eq, inArray, isNotNull, isNull, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import type { Role } from "../http/authorization/permissions.ts";
import { organizations } from "../organizations/index.ts";
import { IS_CURRENT } from "./store.ts";
import { members } from "./table.ts";

/** The roles that these users have now, in all organizations that are not deleted. */
export async function listRoles(
  db: Queryable,
  userIds: readonly string[],
): Promise<{ orgId: string; userId: string | null; role: Role }[]> {
  return db
    .select({ orgId: members.orgId, userId: members.userId, role: members.role })
    .from(members)
    .innerJoin(organizations, eq(organizations.id, members.orgId))
    .where(and(inArray(members.userId, [...new Set(userIds)]), IS_CURRENT, isNull(organizations.deletedAt)));
}

/** The roles of members of these organizations by their e-mail addresses, which are given and returned in lower case. */
export async function listRolesByEmail(
  db: Queryable,
  orgIds: readonly string[],
  emails: readonly string[],
): Promise<{ orgId: string; email: string; role: Role }[]> {
  if (emails.length === 0) return [];
  const email = sql<string>`lower(${members.email})`;
  return db
    .select({ orgId: members.orgId, email, role: members.role })
    .from(members)
    .innerJoin(organizations, eq(organizations.id, members.orgId))
    .where(
      and(
        inArray(members.orgId, [...new Set(orgIds)]),
        inArray(email, [...new Set(emails)]),
        isNotNull(members.userId),
        IS_CURRENT,
        isNull(organizations.deletedAt),
      ),
    );
}

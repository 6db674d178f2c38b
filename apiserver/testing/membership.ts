import { type Membership, type Role, rightsOf } from "../http/authorization/permissions.ts";

/** A member with the rights of a role, of an organization that no database knows. */
export function makeMembership(orgId: string, role: Role): Membership {
  return { memberId: orgId, orgId, role, rights: rightsOf(role) };
}

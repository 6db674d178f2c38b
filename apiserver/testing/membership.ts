import type { Membership, Role } from "../http/authentication/principal.ts";
import { rightsOf } from "../http/authorization/permissions.ts";

/** A member with the rights of a role, of an organization that no database knows. */
export function makeMembership(orgId: string, role: Role): Membership {
  const at = new Date(0);
  return {
    memberId: orgId,
    orgId,
    organization: {
      id: orgId,
      name: "Example Ltd",
      slug: "example-ltd",
      billingEmail: null,
      vatId: null,
      plan: "starter",
      version: 1,
      createdAt: at,
      updatedAt: at,
      deletingAt: null,
    },
    role,
    rights: rightsOf(role),
  };
}

import type { UserPrincipal } from "../http/authentication/principal.ts";
import { type Membership, type Role, rightsOf } from "../http/authorization/permissions.ts";

/** A person whose token has ended. `fields` are what its other claims say. */
export function makePrincipal(userId: string, fields: Partial<UserPrincipal> = {}): UserPrincipal {
  const claims = { emailVerified: false, emailTrusted: false, roles: [], expiresAtMs: 0, ...fields };
  return { kind: "user", userId, issuer: "https://issuer.test", ...claims };
}

/** A member with the rights of a role, of an organization that no database knows. */
export function makeMembership(orgId: string, role: Role): Membership {
  return { memberId: orgId, orgId, organization: undefined, role, rights: rightsOf(role) };
}

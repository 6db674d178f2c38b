import type { z } from "@hono/zod-openapi";
import type { Principal } from "../http/authentication/principal.ts";
import {
  type Membership,
  PERMISSIONS,
  permissionsOf,
  ROLES,
  SCOPES,
} from "../http/authorization/permissions.ts";
import type { OrganizationRow } from "../organizations/index.ts";
import type { memberRecord, meRecord } from "./schema.ts";
import type { PendingInvitation } from "./store.ts";
import type { MemberRow } from "./table.ts";

/** The wire form of a member. */
export function presentMember(row: MemberRow): z.output<typeof memberRecord> {
  return {
    id: row.id,
    org_id: row.orgId,
    user_id: row.userId,
    email: row.email,
    role: row.role,
    source: row.source,
    invited_by: row.invitedBy,
    accepted_at: row.acceptedAt?.toISOString() ?? null,
    expires_at: row.expiresAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
  };
}

/** The fields of a member that the audit log keeps. */
export function auditMember(row: MemberRow) {
  const { email, role, source, user_id, expires_at } = presentMember(row);
  return { email, role, source, user_id, expires_at };
}

/** What the caller may do in one organization. */
export type CallerRole = Pick<Membership, "role" | "rights" | "endsAt"> & { organization: OrganizationRow };

/** The wire form of the caller and the caller's rights. */
export function presentMe(
  principal: Principal,
  callerRoles: readonly CallerRole[],
  invitations: readonly PendingInvitation[],
  quotas: z.output<typeof meRecord>["quotas"],
): z.output<typeof meRecord> {
  return {
    principal: {
      kind: principal.kind,
      id: principal.kind === "user" ? principal.userId : principal.tokenId,
      email: principal.email ?? null,
      email_verified: principal.emailVerified,
      realm_roles: [...principal.roles],
    },
    organizations: callerRoles.map(({ organization, role, rights, endsAt }) => ({
      id: organization.id,
      name: organization.name,
      slug: organization.slug,
      role,
      permissions: PERMISSIONS.filter((permission) => rights.has(permission)),
      expires_at: endsAt?.toISOString() ?? null,
    })),
    invitations: invitations.map((invitation) => ({
      id: invitation.id,
      org_id: invitation.orgId,
      organization_name: invitation.organizationName,
      role: invitation.role,
      expires_at: invitation.expiresAt?.toISOString() ?? null,
      created_at: invitation.createdAt.toISOString(),
    })),
    quotas,
    roles: ROLES.map((role) => ({ role, permissions: permissionsOf(role) })),
    scopes: [...SCOPES],
  };
}

import { z } from "@hono/zod-openapi";
import { observedField } from "../http/fixed-field.ts";
import { pageSchema } from "../http/page.ts";
import { PERMISSIONS, permissionsOf, SCOPES } from "../http/permissions.ts";
import { type Membership, type Principal, ROLES } from "../http/principal.ts";
import { idSchema } from "../http/validate.ts";
import type { MembershipOf } from "./store.ts";
import type { MemberRow } from "./table.ts";

const MAX_EMAIL_LENGTH = 254;

export const memberSchema = z
  .object({
    id: z.guid(),
    org_id: z.guid(),
    user_id: z.guid().nullable().openapi({ description: "Null until the invitation is accepted." }),
    email: z.string(),
    role: z.enum(ROLES),
    invited_by: z.guid().nullable(),
    accepted_at: z.iso.datetime().nullable(),
    expires_at: z.iso.datetime().nullable().openapi({ description: "When an open invitation ends." }),
    created_at: z.iso.datetime(),
  })
  .openapi("Member", {
    example: {
      id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
      org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
      user_id: null,
      email: "bob@example.com",
      role: "member",
      invited_by: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
      accepted_at: null,
      expires_at: "2026-12-05T09:00:00.000Z",
      created_at: "2026-11-21T09:00:00.000Z",
    },
  });

export const memberPageSchema = pageSchema(memberSchema, "MemberPage");

export const inviteMemberSchema = z
  .strictObject({ email: z.email().max(MAX_EMAIL_LENGTH), role: z.enum(ROLES) })
  .openapi("InviteMember", { example: { email: "bob@example.com", role: "owner" } });

export const updateMemberSchema = z
  .strictObject({
    role: z.enum(ROLES).optional(),
    id: idSchema.optional(),
    org_id: idSchema.optional(),
    email: z.string().max(MAX_EMAIL_LENGTH).optional(),
    user_id: observedField,
    invited_by: observedField,
    accepted_at: observedField,
    expires_at: observedField,
    created_at: observedField,
  })
  .openapi("UpdateMember", { example: { role: "admin" } });

/** The wire form of a member. */
export function presentMember(row: MemberRow): z.output<typeof memberSchema> {
  return {
    id: row.id,
    org_id: row.orgId,
    user_id: row.userId,
    email: row.email,
    role: row.role,
    invited_by: row.invitedBy,
    accepted_at: row.acceptedAt?.toISOString() ?? null,
    expires_at: row.expiresAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
  };
}

/** The fields of a member that the audit log holds. */
export function presentAudit(row: MemberRow) {
  const { email, role, user_id, expires_at } = presentMember(row);
  return { email, role, user_id, expires_at };
}

export const meSchema = z
  .object({
    principal: z.object({
      kind: z.enum(["user", "token"]),
      id: z.guid().openapi({ description: "Of the user, or of the API token." }),
      email: z.string().nullable(),
      email_verified: z.boolean(),
      realm_roles: z.array(z.string()),
    }),
    organizations: z.array(
      z.object({
        id: z.guid(),
        name: z.string(),
        slug: z.string(),
        role: z.enum(ROLES),
        permissions: z.array(z.enum(PERMISSIONS)),
      }),
    ),
    roles: z
      .array(z.object({ role: z.enum(ROLES), permissions: z.array(z.enum(PERMISSIONS)) }))
      .openapi({ description: "What each role may do." }),
    scopes: z.array(z.enum(SCOPES)).openapi({ description: "The scopes that an API token can be given." }),
  })
  .openapi("Me");

/** The wire form of the caller and the caller's rights. */
export function presentMe(
  principal: Principal,
  memberships: readonly (MembershipOf & Pick<Membership, "rights">)[],
): z.output<typeof meSchema> {
  return {
    principal: {
      kind: principal.kind,
      id: principal.kind === "user" ? principal.userId : principal.tokenId,
      email: principal.email ?? null,
      email_verified: principal.emailVerified,
      realm_roles: [...principal.roles],
    },
    organizations: memberships.map(({ orgId, name, slug, role, rights }) => ({
      id: orgId,
      name,
      slug,
      role,
      permissions: PERMISSIONS.filter((permission) => rights.has(permission)),
    })),
    roles: ROLES.map((role) => ({ role, permissions: permissionsOf(role) })),
    scopes: [...SCOPES],
  };
}

import { z } from "@hono/zod-openapi";
import { type Membership, type Principal, ROLES } from "../http/authentication/principal.ts";
import { PERMISSIONS, permissionsOf, SCOPES } from "../http/authorization/permissions.ts";
import { idField, textField, timestampField } from "../http/contract/fields.ts";
import { observedField } from "../http/contract/immutable-fields.ts";
import { pageSchema } from "../http/contract/page.ts";
import { idSchema } from "../http/contract/validate.ts";
import type { MembershipOf } from "./store.ts";
import type { MemberRow } from "./table.ts";

const MAX_EMAIL_LENGTH = 254;

const FIXED = "Fixed: only the present value is accepted.";

const roleField = (description: string) => z.enum(ROLES).openapi({ description });
const permissionsField = (description: string) =>
  z.array(z.enum(PERMISSIONS)).max(PERMISSIONS.length).openapi({ description });

export const memberSchema = z
  .object({
    id: idField("The membership."),
    org_id: idField("The organization."),
    user_id: idField("The user; null until the invitation is accepted.").nullable(),
    email: textField(MAX_EMAIL_LENGTH, "The address that was invited."),
    role: roleField("The role held in the organization."),
    invited_by: idField("The user who invited.").nullable(),
    accepted_at: timestampField("When the invitation was accepted.").nullable(),
    expires_at: timestampField("When an open invitation ends.").nullable(),
    created_at: timestampField("When the member was invited."),
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
  .strictObject({
    email: z.email().max(MAX_EMAIL_LENGTH).openapi({ description: "The address to invite." }),
    role: roleField("The role to give. Only owners make owners."),
  })
  .openapi("InviteMember", { example: { email: "bob@example.com", role: "owner" } });

export const updateMemberSchema = z
  .strictObject({
    role: roleField("The new role. Only owners make owners.").optional(),
    id: idSchema.optional().openapi({ description: FIXED }),
    org_id: idSchema.optional().openapi({ description: FIXED }),
    email: z.string().max(MAX_EMAIL_LENGTH).optional().openapi({ description: FIXED }),
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
    principal: z
      .object({
        kind: z.enum(["user", "token"]).openapi({ description: "What presented the credential." }),
        id: idField("Of the user (`sub`), or of the API token."),
        email: textField(MAX_EMAIL_LENGTH, "The address in the token.").nullable(),
        email_verified: z.boolean().openapi({ description: "Whether the token says it is verified." }),
        realm_roles: z
          .array(z.string().max(256))
          .max(1000)
          .openapi({ description: "Roles that the issuer grants on the platform." }),
      })
      .openapi({ description: "The caller." }),
    organizations: z
      .array(
        z.object({
          id: idField("The organization."),
          name: textField(100, "Name shown to people."),
          slug: textField(40, "Unique name for addresses and commands."),
          role: roleField("The role held there."),
          permissions: permissionsField("What the caller may do there."),
        }),
      )
      .max(10_000)
      .openapi({ description: "The caller's organizations, in the order of their ids." }),
    roles: z
      .array(
        z.object({
          role: roleField("The role."),
          permissions: permissionsField("What it may do."),
        }),
      )
      .max(ROLES.length)
      .openapi({ description: "What each role may do." }),
    scopes: z
      .array(z.enum(SCOPES))
      .max(SCOPES.length)
      .openapi({ description: "The scopes that an API token can be given." }),
  })
  .openapi("Me", {
    example: {
      principal: {
        kind: "user",
        id: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
        email: "alice@example.com",
        email_verified: true,
        realm_roles: [],
      },
      organizations: [
        {
          id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
          name: "Example Ltd",
          slug: "example-ltd",
          role: "viewer",
          permissions: ["organization:read", "members:read", "clusters:read"],
        },
      ],
      roles: [{ role: "viewer", permissions: ["organization:read", "members:read", "clusters:read"] }],
      scopes: ["organization:read", "clusters:read"],
    },
  });

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

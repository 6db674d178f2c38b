import { z } from "@hono/zod-openapi";
import { MAX_QUOTA } from "../../shared/crd/quota.ts";
import { MEMBER_SOURCES, PERMISSIONS, ROLES, SCOPES } from "../http/authorization/permissions.ts";
import {
  countField,
  emailSchema,
  idField,
  immutableField,
  MAX_EMAIL_LENGTH,
  readOnlyField,
  textField,
  timestampField,
} from "../http/contract/fields.ts";
import { pageSchema } from "../http/contract/page.ts";
import { idSchema } from "../http/contract/validate.ts";

const roleField = (description: string) => z.enum(ROLES).openapi({ description });
const permissionsField = (description: string) =>
  z.array(z.enum(PERMISSIONS)).max(PERMISSIONS.length).openapi({ description });

const sourceField = z.enum(MEMBER_SOURCES).openapi({
  description:
    "`direct`: by an invitation, or as the creator. `group`: by a group of the identity provider that the platform maps to this organization; such a membership is changed there alone.",
});

export const memberRecord = z
  .object({
    id: idField("The membership."),
    org_id: idField("The organization."),
    user_id: idField("The user; null until the invitation is accepted.").nullable(),
    email: textField(MAX_EMAIL_LENGTH, "The invited e-mail address."),
    role: roleField("The role in the organization."),
    source: sourceField,
    invited_by: idField("The user who sent the invitation.").nullable(),
    accepted_at: timestampField("When the invitation was accepted; null of a member by a group.").nullable(),
    expires_at: timestampField(
      "When the pending invitation expires, or a membership by a group ends unless another token carries the group.",
    ).nullable(),
    created_at: timestampField("When the member was invited, or first came by a group."),
  })
  .openapi("Member", {
    example: {
      id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
      org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
      user_id: null,
      email: "bob@example.com",
      role: "member",
      source: "direct",
      invited_by: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
      accepted_at: null,
      expires_at: "2026-12-05T09:00:00.000Z",
      created_at: "2026-11-21T09:00:00.000Z",
    },
  });

export const memberPage = pageSchema(memberRecord, "MemberPage");

export const inviteMemberBody = z
  .strictObject({
    email: emailSchema.openapi({ description: "The e-mail address to invite." }),
    role: roleField("The role to grant. Only an owner can grant owner."),
  })
  .openapi("InviteMember", { example: { email: "bob@example.com", role: "owner" } });

export const updateMemberBody = z
  .strictObject({
    role: roleField("The new role. Only an owner can grant owner.").optional(),
    id: immutableField(idSchema),
    org_id: immutableField(idSchema),
    email: immutableField(z.string().max(MAX_EMAIL_LENGTH)),
    source: immutableField(z.enum(MEMBER_SOURCES)),
    user_id: readOnlyField,
    invited_by: readOnlyField,
    accepted_at: readOnlyField,
    expires_at: readOnlyField,
    created_at: readOnlyField,
  })
  .openapi("UpdateMember", { example: { role: "admin" } });

const userQuota = z
  .object({
    name: z.enum(["pending_invitations"]).openapi({ description: "Named in the `details` of a refusal." }),
    limit: countField(MAX_QUOTA, "How many the user may have."),
    used: countField(MAX_QUOTA, "How many the user has."),
  })
  .openapi("UserStoreQuota");

export const meRecord = z
  .object({
    principal: z
      .object({
        kind: z
          .enum(["user", "token"])
          .openapi({ description: "Whether a user or an API token sent the request." }),
        id: idField("Of the user (`sub`), or of the API token."),
        email: textField(MAX_EMAIL_LENGTH, "The e-mail address in the token.").nullable(),
        email_verified: z.boolean().openapi({ description: "Whether the issuer has verified it." }),
        realm_roles: z
          .array(z.string().max(256))
          .max(1000)
          .openapi({ description: "Platform roles granted by the issuer." }),
      })
      .openapi("Principal", { description: "The caller." }),
    organizations: z
      .array(
        z
          .object({
            id: idField("The organization."),
            name: textField(100, "Display name."),
            slug: textField(40, "Unique name for URLs and commands."),
            role: roleField("The caller's role in it."),
            permissions: permissionsField("The caller's permissions in it."),
            expires_at: timestampField(
              "When a membership by a group of the identity provider ends, unless another token carries the group.",
            ).nullable(),
          })
          .openapi("Membership"),
      )
      .max(10_000)
      .openapi({ description: "The caller's organizations, ordered by id." }),
    invitations: z
      .array(
        z
          .object({
            id: idField("The invitation: accept or decline it by this id."),
            org_id: idField("The organization."),
            organization_name: textField(100, "Display name of the organization."),
            role: roleField("The role that the invitation grants."),
            expires_at: timestampField("When the invitation expires.").nullable(),
            created_at: timestampField("When the invitation was sent."),
          })
          .openapi("Invitation"),
      )
      .max(1000)
      .openapi({
        description:
          "The newest 1,000 pending invitations to the caller's verified e-mail address, the newest first.",
      }),
    quotas: z.array(userQuota).max(1).openapi({
      description:
        "Of what is limited for a user, in all organizations together: the invitations that the caller has sent and that wait. Empty for an API token.",
    }),
    roles: z
      .array(
        z
          .object({
            role: roleField("The role."),
            permissions: permissionsField("The permissions of the role."),
          })
          .openapi("RolePermissions"),
      )
      .max(ROLES.length)
      .openapi({ description: "The permissions of each role." }),
    scopes: z
      .array(z.enum(SCOPES))
      .max(SCOPES.length)
      .openapi({ description: "The scopes that an API token can have." }),
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
          expires_at: null,
        },
      ],
      invitations: [
        {
          id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
          org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e14",
          organization_name: "Another Ltd",
          role: "member",
          expires_at: "2026-12-05T09:00:00.000Z",
          created_at: "2026-11-21T09:00:00.000Z",
        },
      ],
      quotas: [{ name: "pending_invitations", limit: 100, used: 2 }],
      roles: [{ role: "viewer", permissions: ["organization:read", "members:read", "clusters:read"] }],
      scopes: ["organization:read", "clusters:read"],
    },
  });

import { z } from "@hono/zod-openapi";
import { idField, textField } from "../http/fields.ts";
import { PERMISSIONS, permissionsOf } from "../http/permissions.ts";
import { type Principal, ROLES } from "../http/principal.ts";
import type { MembershipOf } from "./store.ts";

export const meSchema = z
  .object({
    principal: z
      .object({
        kind: z.enum(["user"]).openapi({ description: "What presented the credential." }),
        id: idField("The user: `sub` of the token."),
        email: textField(254, "The address in the token.").nullable(),
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
          role: z.enum(ROLES).openapi({ description: "The role held there." }),
          permissions: z
            .array(z.enum(PERMISSIONS))
            .max(PERMISSIONS.length)
            .openapi({ description: "What that role may do." }),
        }),
      )
      .max(10_000)
      .openapi({ description: "The caller's organizations, in the order of their ids." }),
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
    },
  });

/** The wire form of the caller and the caller's rights. */
export function presentMe(
  principal: Principal,
  memberships: readonly MembershipOf[],
): z.output<typeof meSchema> {
  return {
    principal: {
      kind: principal.kind,
      id: principal.userId,
      email: principal.email ?? null,
      email_verified: principal.emailVerified,
      realm_roles: [...principal.roles],
    },
    organizations: memberships.map(({ orgId, name, slug, role }) => ({
      id: orgId,
      name,
      slug,
      role,
      permissions: permissionsOf(role),
    })),
  };
}

import { z } from "@hono/zod-openapi";
import { PERMISSIONS, permissionsOf } from "../http/permissions.ts";
import { type Principal, ROLES } from "../http/principal.ts";
import type { MembershipOf } from "./store.ts";

export const meSchema = z
  .object({
    principal: z.object({
      kind: z.enum(["user"]),
      id: z.guid(),
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
  })
  .openapi("Me");

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

import { findTokenMembership } from "../api-tokens/store.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { rightsOf } from "../http/authorization/permissions.ts";
import { addRoute } from "../http/contract/add-route.ts";
import type { Router } from "../http/env.ts";
import { acceptInvitations } from "./invitations.ts";
import { meSchema, presentMe } from "./schema.ts";
import { listMembershipsOf } from "./store.ts";

/** What the caller may ask about the caller. */
export function addMeRoute(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/me",
      operationId: "getMe",
      tag: "Members",
      summary: "Get the caller: organizations, roles and permissions",
      access: "signed-in",
      responses: { 200: { description: "The caller.", body: meSchema } },
    },
    async (c, { origin }) => {
      await acceptInvitations(deps, origin);
      return c.json(presentMe(origin.principal, await listRightsOf(deps, origin)), 200);
    },
  );
}

async function listRightsOf(deps: Deps, { principal }: Origin) {
  if (principal.kind === "user") {
    const memberships = await listMembershipsOf(deps, principal.userId);
    return memberships.map((membership) => ({ ...membership, rights: rightsOf(membership.role) }));
  }
  const membership = await findTokenMembership(deps, principal, principal.orgId);
  if (membership === undefined) return [];
  const { name, slug } = membership.organization;
  return [{ ...membership, name, slug }];
}

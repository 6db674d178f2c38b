import type { Deps } from "../deps.ts";
import type { Router } from "../http/env.ts";
import { addRoute } from "../http/routes.ts";
import { meSchema, presentMe } from "./schema.ts";
import { listMembershipsOf } from "./store.ts";

/** What the caller may ask about the caller. */
export function addMemberRoutes(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/me",
      operationId: "getMe",
      tag: "Members",
      summary: "Get the caller: organizations, roles and permissions",
      access: "signed-in",
      answers: { 200: { description: "The caller.", body: meSchema } },
    },
    async (c, { origin }) => {
      const memberships = await listMembershipsOf(deps, origin.principal.userId);
      return c.json(presentMe(origin.principal, memberships), 200);
    },
  );
}

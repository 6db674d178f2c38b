import { z } from "@hono/zod-openapi";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { presentOrganization } from "./present.ts";
import { organizationPage, organizationRecord } from "./schema.ts";
import { listOrganizations, requireOrganization } from "./store.ts";

const tag = "Platform administration";
const COLLECTION = "/api/v1/admin/organizations";
const RECORD = `${COLLECTION}/{orgID}`;

const listQuery = pageQuery.extend({
  slug: z.string().min(1).max(40).optional().openapi({ description: "Only the one with this slug." }),
});

/** What the platform's staff can do with every organization. */
export function addAdminOrganizationRoutes(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listAdminOrganizations",
      tag,
      summary: "List all organizations",
      access: "platform-admin",
      query: listQuery,
      responses: { 200: { description: "A page, ordered by creation.", body: organizationPage } },
    },
    async (c, { query }) => {
      const rows = await listOrganizations(deps.db, query);
      return c.json(toPage(rows, query.limit, presentOrganization), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getAdminOrganization",
      tag,
      summary: "Get any organization",
      access: "platform-admin",
      responses: { 200: { description: "The organization.", body: organizationRecord } },
    },
    async (c, { params }) => {
      const organization = await requireOrganization(deps.db, params.orgID);
      return c.json(presentOrganization(organization), 200);
    },
  );
}

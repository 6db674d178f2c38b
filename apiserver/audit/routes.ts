import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { presentAuditEntry } from "./present.ts";
import { adminAuditQuery, auditPage, auditQuery } from "./schema.ts";
import { listAuditEntries } from "./store.ts";

const tag = "Audit";
const DESCRIPTION =
  "Oldest first, in the order in which the entries became visible: a client that continues after the last id it saw misses none.";

/** The audit log: of one organization for its members, of all organizations for the platform's staff. */
export function addAuditRoutes(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/organizations/{orgID}/audit-log",
      operationId: "listAuditLog",
      tag,
      summary: "List the audit log of an organization",
      description: DESCRIPTION,
      access: "audit:read",
      query: auditQuery,
      responses: { 200: { description: "A page of entries.", body: auditPage } },
    },
    async (c, { deps, orgId, query }) => {
      const rows = await listAuditEntries(deps.db, { ...query, orgId });
      return c.json(
        toPage(rows, query.limit, (row) => presentAuditEntry(row, "tenant")),
        200,
      );
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/admin/audit-log",
      operationId: "listAdminAuditLog",
      tag,
      summary: "List the audit log of all organizations",
      description: `${DESCRIPTION} Reading it is recorded too.`,
      access: "platform-admin",
      query: adminAuditQuery,
      responses: { 200: { description: "A page of entries.", body: auditPage } },
    },
    async (c, { deps, query: { org_id: orgId, ...query } }) => {
      const rows = await listAuditEntries(deps.db, { ...query, orgId });
      return c.json(
        toPage(rows, query.limit, (row) => presentAuditEntry(row, "staff")),
        200,
      );
    },
  );
}

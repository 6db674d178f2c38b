import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { toPage } from "../http/contract/page.ts";
import type { Router } from "../http/env.ts";
import { listAudit } from "./list.ts";
import { adminAuditQuery, auditPageSchema, auditQuery, presentAuditEntry } from "./schema.ts";

const tag = "Audit";
const DESCRIPTION =
  "Oldest first, in the order in which the entries became visible: whoever goes on from the last id seen misses none.";

/** The audit log: to the tenant its own, to the platform's staff all of it. */
export function addAuditRoutes(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/organizations/{orgID}/audit-log",
      operationId: "listAuditLog",
      tag,
      summary: "List what was done in an organization",
      description: DESCRIPTION,
      access: "audit:read",
      query: auditQuery,
      responses: { 200: { description: "A page of entries.", body: auditPageSchema } },
    },
    async (c, { orgId, query }) => {
      const rows = await listAudit(deps, { ...query, orgId });
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
      summary: "List what was done anywhere",
      description: `${DESCRIPTION} Reading it leaves an entry too.`,
      access: "platform-admin",
      query: adminAuditQuery,
      responses: { 200: { description: "A page of entries.", body: auditPageSchema } },
    },
    async (c, { query: { org_id: orgId, ...query } }) => {
      const rows = await listAudit(deps, { ...query, orgId });
      return c.json(
        toPage(rows, query.limit, (row) => presentAuditEntry(row, "staff")),
        200,
      );
    },
  );
}

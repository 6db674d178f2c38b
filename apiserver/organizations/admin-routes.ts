import { z } from "@hono/zod-openapi";
import { and, asc, eq, gt, isNull } from "drizzle-orm";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified } from "../http/contract/etag.ts";
import { requireUnchanged } from "../http/contract/immutable-fields.ts";
import { pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/env.ts";
import { notFound } from "../http/errors.ts";
import { readUse } from "../quotas/store.ts";
import { changeQuotas } from "./change-quotas.ts";
import { presentQuotas, quotasRecord, quotasTag, setQuotasBody, toQuotaChange } from "./quota-schema.ts";
import { organizationPageSchema, organizationSchema, presentOrganization } from "./schema.ts";
import { findOrganization, organizations, readQuotas } from "./store.ts";

const tag = "Platform administration";
const COLLECTION = "/api/v1/admin/organizations";
const RECORD = `${COLLECTION}/{orgID}` as const;

const listQuery = pageQuery.extend({
  slug: z.string().min(1).max(40).optional().openapi({ description: "Only the one with this slug." }),
});

/** What the platform's staff may do with every organization. */
export function addAdminOrganizationRoutes(router: Router, deps: Deps): void {
  addReads(router, deps);
  addQuotas(router, deps);
}

function addReads(router: Router, deps: Deps): void {
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
      responses: { 200: { description: "A page, in the order of creation.", body: organizationPageSchema } },
    },
    async (c, { query }) => {
      const rows = await deps.db
        .select()
        .from(organizations)
        .where(
          and(
            isNull(organizations.deletedAt),
            query.cursor === undefined ? undefined : gt(organizations.id, query.cursor),
            query.slug === undefined ? undefined : eq(organizations.slug, query.slug),
          ),
        )
        .orderBy(asc(organizations.id))
        .limit(query.limit + 1);
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
      responses: { 200: { description: "The organization.", body: organizationSchema } },
    },
    async (c, { params }) => {
      const row = await findOrganization(deps, params.orgID);
      if (row === undefined) throw notFound("organization");
      return c.json(presentOrganization(row), 200);
    },
  );
}

function addQuotas(router: Router, deps: Deps): void {
  const { quotas: defaults } = deps.config;
  addRoute(
    router,
    {
      method: "get",
      path: `${RECORD}/quotas`,
      operationId: "getOrganizationQuotas",
      tag,
      summary: "Get the quotas of an organization",
      access: "platform-admin",
      responses: {
        200: { description: "Its limits and their use.", body: quotasRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { params: { orgID } }) => {
      if ((await findOrganization(deps, orgID)) === undefined) throw notFound("organization");
      const quotas = await readQuotas(deps.db, defaults, orgID);
      const used = await readUse(deps.db, orgID);
      const etag = quotasTag(quotas, used);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentQuotas(quotas, defaults, used), 200, { ETag: etag });
    },
  );

  addRoute(
    router,
    {
      method: "put",
      path: `${RECORD}/quotas`,
      operationId: "setOrganizationQuotas",
      tag,
      summary: "Set the quotas of an organization",
      description:
        "Omitted limits stay; null goes back to the platform's default. A limit below what is in use stops nothing that runs: only growth is refused.",
      access: "platform-admin",
      body: setQuotasBody,
      responses: {
        200: { description: "Its limits and their use.", body: quotasRecord, headers: ["ETag"] },
      },
      errors: ["conflict", "precondition_failed"],
    },
    async (c, { origin, params: { orgID }, readBody }) => {
      if ((await findOrganization(deps, orgID)) === undefined) throw notFound("organization");
      const body = await readBody();
      requireUnchanged({ org_id: orgID }, body);
      const target = { orgId: orgID, ifMatch: c.req.header("if-match") };
      const quotas = await changeQuotas(deps, origin, target, toQuotaChange(body));
      const used = await readUse(deps.db, orgID);
      return c.json(presentQuotas(quotas, defaults, used), 200, { ETag: quotasTag(quotas, used) });
    },
  );
}

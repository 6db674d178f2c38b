import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Router } from "../http/env.ts";
import { ApiError, invalidField, notFound } from "../http/errors.ts";
import { isNotModified, versionTag } from "../http/etag.ts";
import { pageQuery, toPage } from "../http/page.ts";
import type { Principal } from "../http/principal.ts";
import { addRoute } from "../http/routes.ts";
import { insertOwner, listOrganizationsOf } from "../members/store.ts";
import { ensureNamespace } from "./namespace.ts";
import {
  type CreateOrganization,
  createOrganizationSchema,
  organizationPageSchema,
  organizationSchema,
  presentOrganization,
} from "./schema.ts";
import { toDistinctSlug, toSlug } from "./slug.ts";
import { createOrganization, findOrganization, type NewOrganization } from "./store.ts";

const tag = "Organizations";
const NAMESPACE_TIMEOUT_MS = 2000;

/** Operations on organizations. */
export function addOrganizationRoutes(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/organizations",
      operationId: "listOrganizations",
      tag,
      summary: "List the organizations of the caller",
      access: "signed-in",
      query: pageQuery,
      answers: { 200: { description: "A page, in the order of creation.", body: organizationPageSchema } },
    },
    async (c, { origin, query }) => {
      const rows = await listOrganizationsOf(deps, origin.principal.userId, query);
      return c.json(toPage(rows, query.limit, presentOrganization), 200);
    },
  );

  addRoute(
    router,
    {
      method: "post",
      path: "/api/v1/organizations",
      operationId: "createOrganization",
      tag,
      summary: "Create an organization",
      description: "The caller becomes its owner; the caller's token must carry a verified e-mail address.",
      access: "signed-in",
      body: createOrganizationSchema,
      answers: {
        201: { description: "Created.", body: organizationSchema, headers: ["Location", "ETag"] },
      },
      errors: ["already_exists"],
    },
    async (c, { origin, readBody, once }) => {
      const body = await readBody();
      const { userId } = origin.principal;
      const email = requireVerifiedEmail(origin.principal);
      const makeOwner = (tx: Queryable, orgId: string) => insertOwner(tx, { orgId, userId, email });
      return once({}, async ({ id, resumed }) => {
        const made = resumed ? await findOrganization(deps, id) : undefined;
        const create = (slug: string) =>
          createOrganization(deps, origin, { ...toNewOrganization(id, body), slug }, makeOwner);
        const row = made ?? (await withFreeSlug(id, body, create));
        await prepareNamespace(deps, row.id);
        return c.json(presentOrganization(row), 201, {
          Location: `/api/v1/organizations/${row.id}`,
          ETag: versionTag(row.version),
        });
      });
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/organizations/{orgID}",
      operationId: "getOrganization",
      tag,
      summary: "Get an organization",
      access: "organization:read",
      answers: {
        200: { description: "The organization.", body: organizationSchema, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { orgId }) => {
      const row = await findOrganization(deps, orgId);
      if (row === undefined) throw notFound("organization");
      const etag = versionTag(row.version);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentOrganization(row), 200, { ETag: etag });
    },
  );
}

/** A slug that the caller chose is taken as it is; one made from the name gives way to the one that is there. */
async function withFreeSlug<T>(
  id: string,
  body: CreateOrganization,
  create: (slug: string) => Promise<T>,
): Promise<T> {
  if (body.slug !== undefined) return create(body.slug);
  try {
    return await create(toSlug(body.name, id));
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "already_exists")) throw error;
    return create(toDistinctSlug(body.name, id));
  }
}

function toNewOrganization(id: string, body: CreateOrganization): Omit<NewOrganization, "slug"> {
  return {
    id,
    name: body.name,
    billingEmail: body.billing_email ?? null,
    vatId: body.vat_id ?? null,
  };
}

/** Makes the Namespace at once when it can; else the periodic job does, so that Kubernetes being away hurts nobody. */
async function prepareNamespace(deps: Deps, orgId: string): Promise<void> {
  try {
    await ensureNamespace(deps, orgId, { timeoutMs: NAMESPACE_TIMEOUT_MS });
  } catch (error) {
    deps.log.warn(
      { orgId, message: error instanceof Error ? error.message : String(error) },
      "namespace is late",
    );
  }
}

function requireVerifiedEmail(principal: Principal): string {
  if (principal.email !== undefined && principal.emailVerified) return principal.email;
  throw invalidField("email", "required", "the credential must carry a verified e-mail address");
}

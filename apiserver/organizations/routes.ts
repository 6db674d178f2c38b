import { findTokenMembership } from "../api-tokens/store.ts";
import type { Deps } from "../deps.ts";
import type { OrganizationRecord, Origin, Principal } from "../http/authentication/principal.ts";
import type { Permission } from "../http/authorization/permissions.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified, versionTag } from "../http/contract/etag.ts";
import { requireUnchanged } from "../http/contract/immutable-fields.ts";
import { type PageRequest, pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/env.ts";
import { ApiError, invalidField } from "../http/errors.ts";
import { acceptInvitations, insertOwner, listOrganizationsOf } from "../members/store.ts";
import { deleteOrganization } from "./delete.ts";
import { ensureNamespace } from "./namespace.ts";
import {
  type CreateOrganization,
  createOrganizationSchema,
  organizationPageSchema,
  organizationSchema,
  type PresentedOrganization,
  presentOrganization,
  type UpdateOrganization,
  updateOrganizationSchema,
} from "./schema.ts";
import { toDistinctSlug, toSlug } from "./slug.ts";
import {
  createOrganization,
  type NewOrganization,
  type OrganizationChange,
  updateOrganization,
} from "./store.ts";

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
      responses: { 200: { description: "A page, in the order of creation.", body: organizationPageSchema } },
    },
    async (c, { origin, query }) => {
      await acceptInvitations(deps, origin);
      const rows = await listOrganizations(deps, origin, query);
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
      access: "user",
      body: createOrganizationSchema,
      responses: {
        201: { description: "Created.", body: organizationSchema, headers: ["Location", "ETag"] },
      },
      errors: ["already_exists"],
    },
    async (c, { origin, readBody, runOnce }) => {
      const body = await readBody();
      const { userId } = origin.principal;
      const email = requireVerifiedEmail(origin.principal);
      return runOnce({}, async ({ id, settle }) => {
        const create = (slug: string) =>
          createOrganization(deps, origin, { ...toNewOrganization(id, body), slug }, async (tx, row) => {
            await insertOwner(tx, { orgId: row.id, userId, email });
            return settle(
              tx,
              c.json(presentOrganization(row), 201, {
                Location: `/api/v1/organizations/${row.id}`,
                ETag: versionTag(row.version),
              }),
            );
          });
        const answer = await withFreeSlug(id, body, create);
        await prepareNamespace(deps, id);
        return answer;
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
      responses: {
        200: { description: "The organization.", body: organizationSchema, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { membership: { organization } }) => {
      const etag = versionTag(organization.version);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentOrganization(organization), 200, { ETag: etag });
    },
  );

  addUpdate(router, deps);
  addDelete(router, deps);
}

function addUpdate(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "put",
      path: "/api/v1/organizations/{orgID}",
      operationId: "updateOrganization",
      tag,
      summary: "Update an organization",
      description:
        "Partial: omitted fields stay as they are; null clears billing_email and vat_id. name and slug need organization:update, billing_email and vat_id organization:update_billing. plan cannot be changed.",
      access: ["organization:update", "organization:update_billing"],
      body: updateOrganizationSchema,
      responses: { 200: { description: "The organization.", body: organizationSchema, headers: ["ETag"] } },
      errors: ["already_exists", "conflict", "precondition_failed"],
    },
    async (c, { membership, origin, readBody, requirePermission }) => {
      const body = await readBody();
      const target = {
        read: membership.organization,
        ifMatch: c.req.header("if-match"),
        change: toChange(body),
      };
      const row = await updateOrganization(deps, origin, target, (current) => {
        requireUnchanged({ id: current.id, plan: current.plan }, body);
        for (const permission of findNeededPermissions(target.change, current)) requirePermission(permission);
      });
      return c.json(presentOrganization(row), 200, { ETag: versionTag(row.version) });
    },
  );
}

function addDelete(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "delete",
      path: "/api/v1/organizations/{orgID}",
      operationId: "deleteOrganization",
      tag,
      summary: "Delete an organization",
      description: "Refused while it has clusters. Its members, invitations and API tokens end at once.",
      access: "organization:delete",
      responses: { 204: { description: "Deleted." } },
      errors: ["organization_not_empty", "conflict", "precondition_failed"],
    },
    async (c, { orgId, origin }) => {
      await deleteOrganization(deps, origin, { orgId, ifMatch: c.req.header("if-match") });
      return c.body(null, 204);
    },
  );
}

/** A person sees where that person is a member; a token its own organization, if it may read it. */
async function listOrganizations(
  deps: Deps,
  { principal }: Origin,
  page: PageRequest,
): Promise<PresentedOrganization[]> {
  if (principal.kind === "user") return listOrganizationsOf(deps, principal.userId, page);
  const membership = await findTokenMembership(deps, principal, principal.orgId);
  if (membership?.rights.has("organization:read") !== true) return [];
  const { organization } = membership;
  return page.cursor !== undefined && organization.id <= page.cursor ? [] : [organization];
}

function toChange(body: UpdateOrganization): OrganizationChange {
  return { name: body.name, slug: body.slug, billingEmail: body.billing_email, vatId: body.vat_id };
}

/** The permissions for the fields that really change; sending back what was read needs none of them. */
function findNeededPermissions(change: OrganizationChange, current: OrganizationRecord): Permission[] {
  const differs = (field: keyof OrganizationChange) =>
    change[field] !== undefined && change[field] !== current[field];
  return [
    ...(differs("name") || differs("slug") ? (["organization:update"] as const) : []),
    ...(differs("billingEmail") || differs("vatId") ? (["organization:update_billing"] as const) : []),
  ];
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

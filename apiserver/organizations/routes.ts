import { z } from "@hono/zod-openapi";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Principal } from "../http/authentication/principal.ts";
import type { Permission } from "../http/authorization/permissions.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified, readPreconditions, versionTag } from "../http/contract/etag.ts";
import { pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { invalidField } from "../http/errors.ts";
import { dryRunQuery } from "../resources/write/index.ts";
import {
  createOrganization,
  type DeletionHooks,
  deleteOrganization,
  findChangedSettings,
  requireVatId,
  updateOrganization,
} from "./changes.ts";
import { ensureNamespaceSoon } from "./namespace.ts";
import { presentOrganization } from "./present.ts";
import {
  createOrganizationBody,
  organizationPage,
  organizationRecord,
  updateOrganizationBody,
} from "./schema.ts";
import {
  listOrganizations,
  type OrganizationChange,
  organizationOfMembership,
  requireOrganization,
} from "./store.ts";

const tag = "Organizations";
const COLLECTION = "/api/v1/organizations";
const RECORD = `${COLLECTION}/{orgID}`;
const ADMIN_TAG = "Platform administration";
const ADMIN_COLLECTION = "/api/v1/admin/organizations";
const ADMIN_RECORD = `${ADMIN_COLLECTION}/{orgID}`;

/** What slices above this one do when an organization is created or deleted. */
interface OrganizationHooks extends DeletionHooks {
  /** Runs first in the transaction that creates an organization; throws to refuse it. */
  beforeCreate(tx: Queryable, creatorId: string): Promise<void>;
  /** Runs in the transaction that creates the organization, and makes its creator the owner. */
  onCreate(tx: Queryable, orgId: string, creator: { userId: string; email: string }): Promise<void>;
}

/** Operations on organizations. The list of the caller's organizations belongs to the members. */
export function addOrganizationRoutes(router: Router<Deps>, hooks: OrganizationHooks): void {
  addCreate(router, hooks);
  addRead(router);
  addUpdate(router);
  addDelete(router, hooks);
}

function addCreate(router: Router<Deps>, hooks: OrganizationHooks): void {
  addRoute(
    router,
    {
      method: "post",
      path: COLLECTION,
      operationId: "createOrganization",
      tag,
      summary: "Create an organization",
      description: "The caller becomes its owner; the caller's token must carry a verified e-mail address.",
      access: "user",
      rateClass: "organization_creation",
      body: createOrganizationBody,
      responses: {
        201: { description: "Created.", body: organizationRecord, headers: ["Location", "ETag"] },
      },
      errors: ["already_exists", "quota_exceeded"],
    },
    async (c, { deps, author, readBody, transact }) => {
      const body = await readBody();
      requireVatId(null, body.vat_id);
      const { userId } = author.principal;
      const email = requireVerifiedEmail(author.principal);
      return transact(
        async (tx, { id }) => {
          await hooks.beforeCreate(tx, userId);
          const organization = await createOrganization(tx, author, {
            id,
            name: body.name,
            slug: body.slug,
            billingEmail: body.billing_email ?? null,
            vatId: body.vat_id ?? null,
            labels: body.labels ?? {},
          });
          await hooks.onCreate(tx, id, { userId, email });
          return organization;
        },
        (organization) =>
          c.json(presentOrganization(organization), 201, {
            Location: `${COLLECTION}/${organization.id}`,
            ETag: versionTag(organization.version),
          }),
        { afterCommit: ({ id }) => ensureNamespaceSoon(deps, id) },
      );
    },
  );
}

function addRead(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getOrganization",
      tag,
      summary: "Get an organization",
      access: "organization:read",
      responses: {
        200: { description: "The organization.", body: organizationRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { membership }) => {
      const organization = organizationOfMembership(membership);
      const etag = versionTag(organization.version);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentOrganization(organization), 200, { ETag: etag });
    },
  );
}

/** The permission that a change of each setting needs. */
const PERMISSION_OF = {
  name: "organization:update",
  slug: "organization:update",
  billingEmail: "organization:update_billing",
  vatId: "organization:update_billing",
  labels: "organization:update",
} as const satisfies Record<keyof OrganizationChange, Permission>;

function addUpdate(router: Router): void {
  addRoute(
    router,
    {
      method: "put",
      path: RECORD,
      operationId: "updateOrganization",
      tag,
      summary: "Update an organization",
      description:
        "Partial: omitted fields are unchanged; null clears billing_email and vat_id. name, slug and labels need organization:update, billing_email and vat_id organization:update_billing. plan cannot be changed.",
      access: ["organization:update", "organization:update_billing"],
      body: updateOrganizationBody,
      responses: { 200: { description: "The organization.", body: organizationRecord, headers: ["ETag"] } },
      errors: ["already_exists", "conflict", "precondition_failed"],
    },
    async (c, { author, readBody, change }) => {
      const body = await readBody();
      const settings = toChange(body);
      const organization = await change({
        // Locked by the confirmation of the caller's right.
        lock: async (_tx, confirmed) => organizationOfMembership((await confirmed).membership),
        tag: ({ version }) => versionTag(version),
        immutable: ({ id, plan }) => ({ id, plan }),
        async apply(tx, before, { requirePermission }) {
          const changed = findChangedSettings(before, settings);
          for (const setting of changed) requirePermission(PERMISSION_OF[setting]);
          requireVatId(before.vatId, settings.vatId);
          return changed.length === 0 ? before : updateOrganization(tx, author, before, settings);
        },
      });
      return c.json(presentOrganization(organization), 200, { ETag: versionTag(organization.version) });
    },
  );
}

function addDelete(router: Router<Deps>, hooks: DeletionHooks): void {
  addRoute(
    router,
    {
      method: "delete",
      path: RECORD,
      operationId: "deleteOrganization",
      tag,
      summary: "Delete an organization",
      description:
        "Refused while it has clusters or container images, of which a cluster or node pool that is protected from deletion is named; the container registry is needed only for an organization that was given a token to push. Its memberships, invitations and API tokens stop working immediately.",
      access: "organization:delete",
      query: dryRunQuery,
      responses: {
        200: { description: "A dry run: the organization, which can be deleted.", body: organizationRecord },
        204: { description: "Deleted." },
      },
      errors: ["deletion_protected", "organization_not_empty", "conflict", "precondition_failed"],
    },
    async (c, { deps, orgId, caller, query: { dry_run: dryRun } }) => {
      await deleteOrganization(deps, caller, hooks, { orgId, preconditions: readPreconditions(c), dryRun });
      if (!dryRun) return c.body(null, 204);
      return c.json(presentOrganization(await requireOrganization(deps.db, orgId)), 200);
    },
  );
}

function toChange(body: z.output<typeof updateOrganizationBody>): OrganizationChange {
  const { name, slug, labels } = body;
  return { name, slug, labels, billingEmail: body.billing_email, vatId: body.vat_id };
}

function requireVerifiedEmail(principal: Principal): string {
  if (principal.email === undefined)
    throw invalidField(
      "email",
      "required",
      "the token carries no e-mail address; have the provider put it in",
    );
  if (principal.emailVerified) return principal.email;
  throw invalidField(
    "email",
    "required",
    "the token does not say that its e-mail address is verified; verify it with the provider",
  );
}

const adminListQuery = pageQuery.extend({
  slug: z.string().min(1).max(40).optional().openapi({ description: "Only the one with this slug." }),
});

/** What the platform's staff can do with every organization. */
export function addAdminOrganizationRoutes(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: ADMIN_COLLECTION,
      operationId: "listAdminOrganizations",
      tag: ADMIN_TAG,
      summary: "List all organizations",
      access: "platform-admin",
      query: adminListQuery,
      responses: { 200: { description: "A page, ordered by creation.", body: organizationPage } },
    },
    async (c, { deps, query }) => {
      const rows = await listOrganizations(deps.db, query);
      return c.json(toPage(rows, query.limit, presentOrganization), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: ADMIN_RECORD,
      operationId: "getAdminOrganization",
      tag: ADMIN_TAG,
      summary: "Get any organization",
      access: "platform-admin",
      responses: { 200: { description: "The organization.", body: organizationRecord } },
    },
    async (c, { deps, params }) => {
      const organization = await requireOrganization(deps.db, params.orgID);
      return c.json(presentOrganization(organization), 200);
    },
  );
}

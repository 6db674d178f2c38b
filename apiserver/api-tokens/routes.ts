import type { Deps } from "../deps.ts";
import type { Role } from "../http/authentication/principal.ts";
import {
  hasPermission,
  PERMISSIONS,
  permissionsOf,
  type Scope,
  scopeOf,
} from "../http/authorization/permissions.ts";
import { addRoute } from "../http/contract/add-route.ts";
import type { OrganizationCall } from "../http/contract/call.ts";
import { isNotModified } from "../http/contract/etag.ts";
import { pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/env.ts";
import { ApiError, notFound } from "../http/errors.ts";
import {
  apiTokenPageSchema,
  apiTokenSchema,
  createApiTokenSchema,
  mintedApiTokenSchema,
  presentApiToken,
} from "./schema.ts";
import {
  createApiToken,
  findApiToken,
  listApiTokens,
  revokeApiToken,
  rotateApiToken,
  type TokenView,
} from "./store.ts";
import { tagOf } from "./tag.ts";

const tag = "API tokens";
const COLLECTION = "/api/v1/organizations/{orgID}/api-tokens";
const RECORD = `${COLLECTION}/{tokenID}`;

type Call = Pick<OrganizationCall<unknown, unknown, unknown>, "orgId" | "origin" | "membership">;

/** Operations on API tokens: for people only, since no scope opens them. */
export function addApiTokenRoutes(router: Router, deps: Deps): void {
  addCreate(router, deps);
  addReads(router, deps);
  addRevoke(router, deps);
  addRotate(router, deps);
}

function addCreate(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "post",
      path: COLLECTION,
      operationId: "createApiToken",
      tag,
      summary: "Create an API token",
      description:
        "The token may do what its scopes open, its role holds, and its creator's role holds when it is used.",
      access: "api_tokens:create",
      body: createApiTokenSchema,
      responses: {
        201: {
          description: "Created; the secret is in this answer alone.",
          body: mintedApiTokenSchema,
          headers: ["Location", "ETag"],
        },
      },
    },
    async (c, { orgId, origin, membership, readBody, runOnce }) => {
      const body = await readBody();
      requireWithin(membership.role, body.role, body.scopes);
      return runOnce({ secret: true }, ({ id, settle }) =>
        createApiToken(
          deps,
          origin,
          {
            id,
            orgId,
            name: body.name,
            role: body.role,
            scopes: body.scopes,
            createdBy: origin.principal.userId,
            lifetimeDays: body.expires_in_days,
          },
          (tx, { row, text }) =>
            settle(
              tx,
              c.json({ ...presentApiToken(row), token: text }, 201, {
                Location: locationOf(row),
                ETag: tagOf(row),
                "Cache-Control": "no-store",
              }),
            ),
        ),
      );
    },
  );
}

function addReads(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listApiTokens",
      tag,
      summary: "List API tokens",
      description: "Owners and admins see all tokens of the organization, others their own.",
      access: "api_tokens:read",
      query: pageQuery,
      responses: { 200: { description: "A page, in the order of creation.", body: apiTokenPageSchema } },
    },
    async (c, call) => {
      const rows = await listApiTokens(deps, viewOf(call), call.query);
      return c.json(toPage(rows, call.query.limit, presentApiToken), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getApiToken",
      tag,
      summary: "Get an API token",
      access: "api_tokens:read",
      responses: {
        200: { description: "The token, without its secret.", body: apiTokenSchema, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, call) => {
      const row = await findApiToken(deps, viewOf(call), call.params.tokenID);
      if (row === undefined) throw notFound("API token");
      const etag = tagOf(row);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentApiToken(row), 200, { ETag: etag });
    },
  );
}

function addRevoke(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "delete",
      path: RECORD,
      operationId: "deleteApiToken",
      tag,
      summary: "Revoke an API token",
      access: "api_tokens:revoke",
      responses: { 204: { description: "Revoked: it is refused from now on." } },
      errors: ["precondition_failed"],
    },
    async (c, call) => {
      await revokeApiToken(deps, call.origin, viewOf(call), {
        id: call.params.tokenID,
        ifMatch: c.req.header("if-match"),
      });
      return c.body(null, 204);
    },
  );
}

function addRotate(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${RECORD}/rotate`,
      operationId: "rotateApiToken",
      tag,
      summary: "Give an API token another secret",
      description:
        "The old secret ends at once, and the lifetime begins anew. Only who made a token can rotate it: its new secret acts in that person's name.",
      access: "api_tokens:create",
      responses: {
        200: {
          description: "The token; the secret is in this answer alone.",
          body: mintedApiTokenSchema,
          headers: ["Location", "ETag"],
        },
      },
    },
    async (c, { orgId, origin, membership, params, runOnce }) => {
      const view = viewOf({ orgId, origin, membership });
      const known = await findApiToken(deps, view, params.tokenID);
      if (known === undefined) throw notFound("API token");
      if (known.createdBy !== origin.principal.userId) {
        throw new ApiError("forbidden", "Only who made a token can rotate it; revoke it instead.");
      }
      return runOnce({ secret: true }, ({ settle }) =>
        rotateApiToken(deps, origin, view, params.tokenID, (tx, { row, text }) =>
          settle(
            tx,
            c.json({ ...presentApiToken(row), token: text }, 200, {
              Location: locationOf(row),
              ETag: tagOf(row),
              "Cache-Control": "no-store",
            }),
          ),
        ),
      );
    },
  );
}

function viewOf({ orgId, origin, membership }: Call): TokenView {
  if (membership.rights.has("api_tokens:manage")) return { orgId };
  return { orgId, createdBy: origin.principal.userId };
}

/** Refuses a token that would promise what its creator may not do, or a scope that its role makes worthless. */
function requireWithin(ownRole: Role, role: Role, scopes: readonly Scope[]): void {
  const excess = permissionsOf(role).find((permission) => !hasPermission(ownRole, permission));
  if (excess !== undefined) {
    throw new ApiError("forbidden", `The role ${ownRole} cannot make a token with the role ${role}.`);
  }
  const isIdle = (scope: Scope) =>
    !PERMISSIONS.some((permission) => scopeOf(permission) === scope && hasPermission(role, permission));
  const idle = scopes.find(isIdle);
  if (idle === undefined) return;
  throw new ApiError("forbidden", `The scope ${idle} opens nothing that the role ${role} may do.`);
}

function locationOf(row: { orgId: string; id: string }): string {
  return `/api/v1/organizations/${row.orgId}/api-tokens/${row.id}`;
}

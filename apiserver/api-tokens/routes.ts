import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Author } from "../http/authentication/principal.ts";
import {
  hasPermission,
  PERMISSIONS,
  permissionsOf,
  type Role,
  type Scope,
  scopeOf,
} from "../http/authorization/permissions.ts";
import { addRoute } from "../http/contract/add-route.ts";
import type { OrganizationCall } from "../http/contract/caller.ts";
import { isNotModified } from "../http/contract/etag.ts";
import { pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { ApiError } from "../http/errors.ts";
import { createApiToken, type MintedApiToken, revokeApiToken, rotateApiToken } from "./changes.ts";
import { apiTokenTag, presentApiToken } from "./present.ts";
import { apiTokenPage, apiTokenRecord, createApiTokenBody, createdApiTokenRecord } from "./schema.ts";
import { listApiTokens, lockApiToken, requireApiToken, type TokenFilter } from "./store.ts";

const tag = "API tokens";
const COLLECTION = "/api/v1/organizations/{orgID}/api-tokens";
const RECORD = `${COLLECTION}/{tokenID}`;

/** A secret of a token that is valid no longer. */
export interface EndedSecret {
  orgId: string;
  tokenId: string;
  /** The version of the token since then. */
  tokenVersion: number;
  how: "revoked" | "rotated";
}

/** What slices above this one do when a token is revoked or rotated. */
export interface ApiTokenHooks {
  /** Runs in the transaction. */
  onEnd(tx: Queryable, author: Author, ended: EndedSecret): Promise<void>;
  /** Runs after the commit. Does not throw. */
  afterEnd(deps: Deps, orgId: string): Promise<void>;
}

/** Operations on API tokens: for users only, since no scope grants them. */
export function addApiTokenRoutes(router: Router<Deps>, hooks: ApiTokenHooks): void {
  addCreate(router);
  addReads(router);
  addRevoke(router, hooks);
  addRotate(router, hooks);
}

function addCreate(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "post",
      path: COLLECTION,
      operationId: "createApiToken",
      tag,
      summary: "Create an API token",
      description:
        "The token has the permissions that its scopes, its role and the current role of its creator all grant.",
      access: "api_tokens:create",
      body: createApiTokenBody,
      responses: {
        201: {
          description: "Created; the secret is only in this response.",
          body: createdApiTokenRecord,
          headers: ["Location", "ETag"],
        },
      },
      errors: ["quota_exceeded"],
    },
    async (c, { deps, orgId, author, readBody, transact }) => {
      const { name, role, scopes, expires_in_days: lifetimeDays } = await readBody();
      return transact(
        async (tx, { id }, { membership }) => {
          requireGrantable(membership.role, role, scopes);
          const limits = { lifetimeDays, maxTokens: deps.config.maxApiTokensPerOrganization };
          const token = { id, name, role, scopes, createdAt: deps.now(), ...limits };
          return createApiToken(tx, author, orgId, token);
        },
        (created) => c.json(presentCreated(created), 201, headersOf(created)),
        { secret: true },
      );
    },
  );
}

function addReads(router: Router<Deps>): void {
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
      responses: { 200: { description: "A page, ordered by creation.", body: apiTokenPage } },
    },
    async (c, call) => {
      const rows = await listApiTokens(call.deps.db, call.orgId, visibleTo(call), call.query);
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
        200: { description: "The token, without its secret.", body: apiTokenRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, call) => {
      const row = await requireApiToken(call.deps.db, call.orgId, visibleTo(call), call.params.tokenID);
      const etag = apiTokenTag(row);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentApiToken(row), 200, { ETag: etag });
    },
  );
}

function addRevoke(router: Router<Deps>, hooks: ApiTokenHooks): void {
  addRoute(
    router,
    {
      method: "delete",
      path: RECORD,
      operationId: "deleteApiToken",
      tag,
      summary: "Revoke an API token",
      access: "api_tokens:revoke",
      responses: { 204: { description: "Revoked." } },
      errors: ["precondition_failed"],
    },
    async (c, { deps, orgId, author, params, change }) => {
      await change({
        async lock(tx, confirmed) {
          const { membership } = await confirmed;
          return lockApiToken(tx, orgId, visibleTo({ membership, author }), params.tokenID);
        },
        tag: apiTokenTag,
        async apply(tx, row) {
          const { id: tokenId, version: tokenVersion } = await revokeApiToken(tx, author, row, deps.now());
          await hooks.onEnd(tx, author, { orgId, tokenId, tokenVersion, how: "revoked" });
        },
      });
      await hooks.afterEnd(deps, orgId);
      return c.body(null, 204);
    },
  );
}

function addRotate(router: Router<Deps>, hooks: ApiTokenHooks): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${RECORD}/rotate`,
      operationId: "rotateApiToken",
      tag,
      summary: "Rotate the secret of an API token",
      description:
        "The old secret stops working immediately, and the lifetime restarts. Only the creator of a token can rotate it, since the new secret acts in the creator's name.",
      access: "api_tokens:create",
      responses: {
        200: {
          description: "The token; the secret is only in this response.",
          body: createdApiTokenRecord,
          headers: ["Location", "ETag"],
        },
      },
      errors: ["quota_exceeded"],
    },
    async (c, call) => {
      const { orgId, author, params } = call;
      const known = await requireApiToken(call.deps.db, orgId, visibleTo(call), params.tokenID);
      if (known.createdBy !== author.principal.userId)
        throw new ApiError("forbidden", "Only the creator of a token can rotate it; revoke it instead.");
      return call.transact(
        async (tx, _attempt, { membership }) => {
          const row = await lockApiToken(tx, orgId, visibleTo({ membership, author }), params.tokenID);
          const rotated = await rotateApiToken(
            tx,
            author,
            row,
            call.deps.now(),
            call.deps.config.maxApiTokensPerOrganization,
          );
          const { id: tokenId, version: tokenVersion } = rotated.row;
          await hooks.onEnd(tx, author, { orgId, tokenId, tokenVersion, how: "rotated" });
          return rotated;
        },
        (rotated) => c.json(presentCreated(rotated), 200, headersOf(rotated)),
        { secret: true, afterCommit: () => hooks.afterEnd(call.deps, orgId) },
      );
    },
  );
}

/** Owners and admins see all tokens of the organization, others their own. */
function visibleTo({
  membership,
  author,
}: Pick<OrganizationCall<unknown, unknown, unknown>, "membership" | "author">): TokenFilter {
  if (membership.rights.has("api_tokens:manage")) return {};
  return { createdBy: author.principal.userId };
}

function presentCreated({ row, text }: MintedApiToken) {
  return { ...presentApiToken(row), token: text };
}

function headersOf({ row }: MintedApiToken) {
  return {
    Location: `/api/v1/organizations/${row.orgId}/api-tokens/${row.id}`,
    ETag: apiTokenTag(row),
    "Cache-Control": "no-store",
  };
}

/**
 * Refuses a token with more permissions than its creator has, or with a scope that grants nothing to its role. Throws
 * 403.
 */
export function requireGrantable(ownRole: Role, role: Role, scopes: readonly Scope[]): void {
  const excess = permissionsOf(role).find((permission) => !hasPermission(ownRole, permission));
  if (excess !== undefined)
    throw new ApiError("forbidden", `The role ${ownRole} cannot create a token with the role ${role}.`);
  const isUseless = (scope: Scope) =>
    !PERMISSIONS.some((permission) => scopeOf(permission) === scope && hasPermission(role, permission));
  const useless = scopes.find(isUseless);
  if (useless === undefined) return;
  throw new ApiError("forbidden", `The scope ${useless} grants no permission that the role ${role} has.`);
}

import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { isNotModified, versionTag } from "../../http/contract/etag.ts";
import { toPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import type { MemberHooks } from "../hooks.ts";
import { changeMappingRole, createMapping, lockMapping, removeMapping } from "./changes.ts";
import { listMappings, requireMapping } from "./mapping-store.ts";
import { presentMapping } from "./present.ts";
import {
  createGroupMappingBody,
  groupMappingPage,
  groupMappingQuery,
  groupMappingRecord,
  updateGroupMappingBody,
} from "./schema.ts";

const tag = "Platform administration";
const COLLECTION = "/api/v1/admin/group-mappings";
const RECORD = `${COLLECTION}/{mappingID}`;

/** Which groups of identity providers are members of which organizations, for the platform's staff. */
export function addGroupMappingRoutes(router: Router<Deps>, hooks: MemberHooks): void {
  addReads(router);
  addCreate(router);
  addUpdate(router, hooks);
  addRemove(router, hooks);
}

function addReads(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listGroupMappings",
      tag,
      summary: "List the groups of identity providers that are mapped to organizations",
      access: "platform-admin",
      query: groupMappingQuery,
      responses: { 200: { description: "A page, ordered by creation.", body: groupMappingPage } },
    },
    async (c, { deps, query: { org_id: orgId, ...query } }) => {
      const rows = await listMappings(deps.db, { orgId, ...query });
      return c.json(toPage(rows, query.limit, presentMapping), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getGroupMapping",
      tag,
      summary: "Get a mapping of a group to an organization",
      access: "platform-admin",
      responses: {
        200: { description: "The mapping.", body: groupMappingRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, params }) => {
      const mapping = await requireMapping(deps.db, params.mappingID);
      const etag = versionTag(mapping.version);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentMapping(mapping), 200, { ETag: etag });
    },
  );
}

function addCreate(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "post",
      path: COLLECTION,
      operationId: "createGroupMapping",
      tag,
      summary: "Map a group of an identity provider to an organization",
      description:
        "People whose tokens carry the group, and an e-mail address, are members of the organization with this role from their next request on (within a minute with a token that was in use before). " +
        "Such a membership ends `groupsGraceSeconds` after the expiry of the last token that carried the group. A direct membership of a person holds in its place, whatever its role.",
      access: "platform-admin",
      body: createGroupMappingBody,
      responses: {
        201: { description: "Mapped.", body: groupMappingRecord, headers: ["Location", "ETag"] },
      },
      errors: ["already_exists", "conflict"],
    },
    async (c, { deps, author, readBody, transact }) => {
      const { org_id: orgId, ...body } = await readBody();
      const issuers = deps.config.issuers.map(({ issuer }) => issuer);
      return transact(
        (tx, { id }) => createMapping(tx, author, issuers, { id, orgId, ...body }),
        (mapping) =>
          c.json(presentMapping(mapping), 201, {
            Location: `${COLLECTION}/${mapping.id}`,
            ETag: versionTag(mapping.version),
          }),
      );
    },
  );
}

function addUpdate(router: Router<Deps>, hooks: MemberHooks): void {
  addRoute(
    router,
    {
      method: "put",
      path: RECORD,
      operationId: "updateGroupMapping",
      tag,
      summary: "Change the role that a group gives",
      description: "Those who are members by the group have the new role immediately.",
      access: "platform-admin",
      body: updateGroupMappingBody,
      responses: { 200: { description: "The mapping.", body: groupMappingRecord, headers: ["ETag"] } },
      errors: ["managed_elsewhere", "precondition_failed", "conflict"],
    },
    async (c, { deps, author, params, readBody, change }) => {
      await requireMapping(deps.db, params.mappingID);
      const body = await readBody();
      const { mapping, isAccessLost } = await change({
        lock: (tx) => lockMapping(tx, params.mappingID),
        tag: ({ version }) => versionTag(version),
        immutable(before) {
          const { id, issuer, group, org_id } = presentMapping(before);
          return { id, issuer, group, org_id };
        },
        apply: (tx, before) => changeMappingRole(tx, hooks, author, before, body.role ?? before.role),
      });
      if (isAccessLost) await hooks.afterClusterAccessLost(deps, mapping.orgId);
      return c.json(presentMapping(mapping), 200, { ETag: versionTag(mapping.version) });
    },
  );
}

function addRemove(router: Router<Deps>, hooks: MemberHooks): void {
  addRoute(
    router,
    {
      method: "delete",
      path: RECORD,
      operationId: "deleteGroupMapping",
      tag,
      summary: "Remove a mapping of a group to an organization",
      description:
        "Memberships that come by this group alone end immediately, with their kubeconfigs; those that come by another group too have its role.",
      access: "platform-admin",
      responses: { 204: { description: "Removed." } },
      errors: ["managed_elsewhere", "precondition_failed", "conflict"],
    },
    async (c, { deps, author, params, change }) => {
      const { mapping, isAccessLost } = await change({
        lock: (tx) => lockMapping(tx, params.mappingID),
        tag: ({ version }) => versionTag(version),
        apply: (tx, before) => removeMapping(tx, hooks, author, before),
      });
      if (isAccessLost) await hooks.afterClusterAccessLost(deps, mapping.orgId);
      return c.body(null, 204);
    },
  );
}

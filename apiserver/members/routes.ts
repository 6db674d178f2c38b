import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import type { OrganizationCall } from "../http/contract/call.ts";
import { isNotModified, versionTag } from "../http/contract/etag.ts";
import { requireUnchanged } from "../http/contract/immutable-fields.ts";
import { pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/env.ts";
import { notFound } from "../http/errors.ts";
import { changeRole, inviteMember, removeMember, renewInvitation } from "./changes.ts";
import {
  inviteMemberSchema,
  memberPageSchema,
  memberSchema,
  presentMember,
  updateMemberSchema,
} from "./schema.ts";
import { findMember, listMembers } from "./store.ts";
import type { MemberRow } from "./table.ts";

const tag = "Members";
const COLLECTION = "/api/v1/organizations/{orgID}/members";
const RECORD = `${COLLECTION}/{memberID}`;

/** Operations on the members of an organization, invited ones too. */
export function addMemberRoutes(router: Router, deps: Deps): void {
  addInvite(router, deps);
  addReads(router, deps);
  addUpdate(router, deps);
  addRemove(router, deps);
  addResend(router, deps);
}

function addInvite(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "post",
      path: COLLECTION,
      operationId: "inviteMember",
      tag,
      summary: "Invite a member",
      description:
        "The invitation is accepted by the first request of a person who signs in with this address, verified. It ends after 14 days. Only an owner invites an owner.",
      access: "members:invite",
      body: inviteMemberSchema,
      responses: { 201: { description: "Invited.", body: memberSchema, headers: ["Location", "ETag"] } },
      errors: ["already_exists"],
    },
    async (c, { orgId, origin, readBody, requirePermission, runOnce }) => {
      const { email, role } = await readBody();
      if (role === "owner") requirePermission("members:grant_owner");
      return runOnce({}, ({ id, settle }) =>
        inviteMember(deps, origin, { id, orgId, email, role }, (tx, row) =>
          settle(
            tx,
            c.json(presentMember(row), 201, { Location: locationOf(row), ETag: versionTag(row.version) }),
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
      operationId: "listMembers",
      tag,
      summary: "List the members of an organization",
      access: "members:read",
      query: pageQuery,
      responses: { 200: { description: "A page, in the order of creation.", body: memberPageSchema } },
    },
    async (c, { orgId, query }) => {
      const rows = await listMembers(deps, orgId, query);
      return c.json(toPage(rows, query.limit, presentMember), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getMember",
      tag,
      summary: "Get a member",
      access: "members:read",
      responses: {
        200: { description: "The member.", body: memberSchema, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { orgId, params }) => {
      const row = await findMember(deps.db, orgId, params.memberID);
      if (row === undefined) throw notFound("member");
      const etag = versionTag(row.version);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentMember(row), 200, { ETag: etag });
    },
  );
}

function addUpdate(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "put",
      path: RECORD,
      operationId: "updateMember",
      tag,
      summary: "Change a member's role",
      description: "Only an owner makes an owner or changes one; the last owner stays one.",
      access: "members:update",
      body: updateMemberSchema,
      responses: { 200: { description: "The member.", body: memberSchema, headers: ["ETag"] } },
      errors: ["last_owner", "precondition_failed", "conflict"],
    },
    async (c, { orgId, origin, params, readBody, requirePermission }) => {
      const known = await findMember(deps.db, orgId, params.memberID);
      if (known === undefined) throw notFound("member");
      const body = await readBody();
      const { id, org_id, email } = presentMember(known);
      requireUnchanged({ id, org_id, email }, body);
      const { role } = body;
      const target = { orgId, memberId: params.memberID, ifMatch: c.req.header("if-match"), role };
      const row = await changeRole(deps, origin, target, (member) => {
        if (role === "owner" || member.role === "owner") requirePermission("members:grant_owner");
      });
      return c.json(presentMember(row), 200, { ETag: versionTag(row.version) });
    },
  );
}

function addRemove(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "delete",
      path: RECORD,
      operationId: "removeMember",
      tag,
      summary: "Remove a member, take an invitation back, or leave",
      description:
        "Everybody may leave, but the last owner. Only an owner removes an owner. The member's API tokens and kubeconfigs end at once.",
      access: ["members:remove", "members:leave"],
      responses: { 204: { description: "Removed." } },
      errors: ["last_owner", "precondition_failed", "conflict"],
    },
    async (c, call) => {
      const target = {
        orgId: call.orgId,
        memberId: call.params.memberID,
        ifMatch: c.req.header("if-match"),
      };
      await removeMember(deps, call.origin, target, (member) => requireRemovable(call, member));
      return c.body(null, 204);
    },
  );
}

function addResend(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${RECORD}/resend`,
      operationId: "resendInvitation",
      tag,
      summary: "Let an invitation run for another 14 days",
      access: "members:invite",
      responses: { 200: { description: "The member.", body: memberSchema, headers: ["ETag"] } },
    },
    async (c, { orgId, origin, params, requirePermission, runOnce }) => {
      if ((await findMember(deps.db, orgId, params.memberID)) === undefined) throw notFound("member");
      const target = { orgId, memberId: params.memberID, ifMatch: undefined };
      return runOnce({}, ({ settle }) =>
        renewInvitation(
          deps,
          origin,
          target,
          (member) => {
            if (member.role === "owner") requirePermission("members:grant_owner");
          },
          (tx, row) => settle(tx, c.json(presentMember(row), 200, { ETag: versionTag(row.version) })),
        ),
      );
    },
  );
}

function requireRemovable(
  { membership, requirePermission }: OrganizationCall<unknown, unknown, unknown>,
  member: MemberRow,
): void {
  if (member.id === membership.memberId) return;
  requirePermission("members:remove");
  if (member.role === "owner") requirePermission("members:grant_owner");
}

function locationOf(row: MemberRow): string {
  return `/api/v1/organizations/${row.orgId}/members/${row.id}`;
}

import type { Deps } from "../deps.ts";
import { hasPermission } from "../http/authorization/permissions.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified, versionTag } from "../http/contract/etag.ts";
import { pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { changeRole, inviteMember, removeMember, resendInvitation } from "./changes.ts";
import type { MemberHooks } from "./hooks.ts";
import { requireInvitationQuota, requireOtherAddress } from "./invitations.ts";
import { presentMember } from "./present.ts";
import { inviteMemberBody, memberPage, memberRecord, updateMemberBody } from "./schema.ts";
import { listMembers, requireMember } from "./store.ts";

const tag = "Members";
const COLLECTION = "/api/v1/organizations/{orgID}/members";
const RECORD = `${COLLECTION}/{memberID}`;

/** Operations on the members of an organization, invited ones too. */
export function addMemberRoutes(router: Router<Deps>, hooks: MemberHooks): void {
  addInvite(router);
  addReads(router);
  addUpdate(router, hooks);
  addRemove(router, hooks);
  addResend(router);
}

function addInvite(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "post",
      path: COLLECTION,
      operationId: "inviteMember",
      tag,
      summary: "Invite a member",
      description:
        "The invited person finds the invitation by GET /me, signed in with this address, verified by the issuer, and accepts or declines it. It expires after 14 days. Only an owner can invite an owner. A member by a group cannot invite the own address. A user can have 100 pending invitations by default, those of all organizations together: one more is 422.",
      access: "members:invite",
      body: inviteMemberBody,
      responses: { 201: { description: "Invited.", body: memberRecord, headers: ["Location", "ETag"] } },
      errors: ["already_exists", "conflict", "quota_exceeded"],
    },
    async (c, { deps, orgId, author, readBody, transact }) => {
      const { email, role } = await readBody();
      return transact(
        async (tx, { id }, { membership, requirePermission }) => {
          if (role === "owner") requirePermission("members:grant_owner");
          await requireOtherAddress(tx, author, membership, email);
          await requireInvitationQuota(tx, author.principal, deps.config.maxInvitationsPerUser);
          return inviteMember(tx, author, orgId, { id, email, role });
        },
        (member) =>
          c.json(presentMember(member), 201, {
            Location: `/api/v1/organizations/${orgId}/members/${member.id}`,
            ETag: versionTag(member.version),
          }),
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
      operationId: "listMembers",
      tag,
      summary: "List the members of an organization",
      access: "members:read",
      query: pageQuery,
      responses: { 200: { description: "A page, ordered by creation.", body: memberPage } },
    },
    async (c, { deps, orgId, query }) => {
      const rows = await listMembers(deps.db, orgId, query);
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
        200: { description: "The member.", body: memberRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, orgId, params }) => {
      const member = await requireMember(deps.db, orgId, params.memberID);
      const etag = versionTag(member.version);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentMember(member), 200, { ETag: etag });
    },
  );
}

function addUpdate(router: Router<Deps>, hooks: MemberHooks): void {
  addRoute(
    router,
    {
      method: "put",
      path: RECORD,
      operationId: "updateMember",
      tag,
      summary: "Change a member's role",
      description:
        "Only an owner can grant owner or change an owner; the last owner keeps the role. A membership by a group is changed at the identity provider alone; an invitation makes a direct one of it.",
      access: "members:update",
      body: updateMemberBody,
      responses: { 200: { description: "The member.", body: memberRecord, headers: ["ETag"] } },
      errors: ["last_owner", "managed_elsewhere", "precondition_failed", "conflict"],
    },
    async (c, { deps, orgId, author, params, readBody, change }) => {
      await requireMember(deps.db, orgId, params.memberID);
      const body = await readBody();
      const { after, isAccessLost } = await change({
        lock: (tx) => requireMember(tx, orgId, params.memberID),
        tag: ({ version }) => versionTag(version),
        immutable(before) {
          const { id, org_id, email, source } = presentMember(before);
          return { id, org_id, email, source };
        },
        async apply(tx, before, { requirePermission }) {
          const { role = before.role } = body;
          if (role === before.role) return { after: before, isAccessLost: false };
          if (role === "owner" || before.role === "owner") requirePermission("members:grant_owner");
          const after = await changeRole(tx, author, before, role);
          const isAccessLost =
            hasPermission(before.role, "clusters:access") && !hasPermission(role, "clusters:access");
          if (after.userId !== null && isAccessLost)
            await hooks.onClusterAccessLost(tx, author, orgId, { userId: after.userId });
          return { after, isAccessLost };
        },
      });
      if (isAccessLost) await hooks.afterClusterAccessLost(deps, orgId);
      return c.json(presentMember(after), 200, { ETag: versionTag(after.version) });
    },
  );
}

function addRemove(router: Router<Deps>, hooks: MemberHooks): void {
  addRoute(
    router,
    {
      method: "delete",
      path: RECORD,
      operationId: "removeMember",
      tag,
      summary: "Remove a member, withdraw an invitation, or leave",
      description:
        "Every member but the last owner can leave. Only an owner can remove an owner. The member's API tokens and kubeconfigs are revoked immediately. A membership by a group ends at the identity provider alone.",
      access: ["members:remove", "members:leave"],
      responses: { 204: { description: "Removed." } },
      errors: ["last_owner", "managed_elsewhere", "precondition_failed", "conflict"],
    },
    async (c, { deps, orgId, author, params, change }) => {
      const removed = await change({
        // Every change of a membership holds the organization's row lock.
        lock: (tx) => requireMember(tx, orgId, params.memberID),
        tag: ({ version }) => versionTag(version),
        async apply(tx, member, { membership, requirePermission }) {
          if (member.id !== membership.memberId) {
            requirePermission("members:remove");
            if (member.role === "owner") requirePermission("members:grant_owner");
          }
          await removeMember(tx, author, member);
          if (member.userId !== null) {
            const { id: memberId, userId, email } = member;
            await hooks.onRemove(tx, orgId, { memberId, userId, email });
            await hooks.onClusterAccessLost(tx, author, orgId, { userId, memberId });
          }
          return member;
        },
      });
      if (removed.userId !== null) await hooks.afterClusterAccessLost(deps, orgId);
      return c.body(null, 204);
    },
  );
}

function addResend(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${RECORD}/resend`,
      operationId: "resendInvitation",
      tag,
      summary: "Extend an invitation by another 14 days",
      description: "Once it is sent, it counts among the pending invitations of the caller.",
      access: "members:invite",
      responses: { 200: { description: "The member.", body: memberRecord, headers: ["ETag"] } },
      errors: ["managed_elsewhere", "quota_exceeded"],
    },
    async (c, { deps, orgId, author, params, transact }) => {
      await requireMember(deps.db, orgId, params.memberID);
      return transact(
        async (tx, _attempt, { membership, requirePermission }) => {
          const member = await requireMember(tx, orgId, params.memberID);
          if (member.role === "owner") requirePermission("members:grant_owner");
          // For a member it is refused all the same: see resendInvitation.
          if (member.userId === null) await requireOtherAddress(tx, author, membership, member.email);
          const { maxInvitationsPerUser } = deps.config;
          await requireInvitationQuota(tx, author.principal, maxInvitationsPerUser, member.id);
          return resendInvitation(tx, author, member);
        },
        (member) => c.json(presentMember(member), 200, { ETag: versionTag(member.version) }),
      );
    },
  );
}

import { z } from "@hono/zod-openapi";
import type { Deps } from "../deps.ts";
import type { Principal } from "../http/authentication/principal.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { versionTag } from "../http/contract/etag.ts";
import { type PageRequest, pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import {
  type OrganizationRow,
  organizationOfMembership,
  organizationPage,
  presentOrganization,
} from "../organizations/index.ts";
import type { MemberHooks } from "./hooks.ts";
import { acceptInvitation, declineInvitation, listInvitations } from "./invitations.ts";
import { type CallerRole, presentMe, presentMember } from "./present.ts";
import { memberRecord, meRecord } from "./schema.ts";
import { listOrganizationsOf, listRolesOf } from "./store.ts";
import { countPendingOf } from "./user-store.ts";

const tag = "Members";
const INVITATION = "/api/v1/me/invitations/{invitationID}";

const listQuery = pageQuery.extend({
  slug: z.string().min(1).max(40).optional().openapi({ description: "Only the one with this slug." }),
});

/** What callers read about themselves, and how they answer an invitation, which GET /me lists. */
export function addCallerRoutes(router: Router<Deps>, hooks: MemberHooks): void {
  addReads(router);
  addAccept(router, hooks);
  addDecline(router);
}

function addReads(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/me",
      operationId: "getMe",
      tag,
      summary: "Get the caller: organizations, invitations, quotas, roles and permissions",
      access: "signed-in",
      responses: { 200: { description: "The caller.", body: meRecord } },
    },
    async (c, { deps, author: { principal } }) => {
      const invitations = await listInvitations(deps.db, principal);
      const quotas = await listCallerQuotas(deps, principal);
      const roles = await listCallerRoles(router, deps, principal);
      return c.json(presentMe(principal, roles, invitations, quotas), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/organizations",
      operationId: "listOrganizations",
      tag: "Organizations",
      summary: "List the organizations of the caller",
      access: "signed-in",
      query: listQuery,
      responses: { 200: { description: "A page, ordered by creation.", body: organizationPage } },
    },
    async (c, { deps, author, query }) => {
      const rows = await listOrganizations(router, deps, author.principal, query);
      return c.json(toPage(rows, query.limit, presentOrganization), 200);
    },
  );
}

/** None for an API token: who has it need not learn what its creator has sent in other organizations. */
async function listCallerQuotas({ db, config }: Deps, principal: Principal) {
  if (principal.kind === "token") return [];
  const used = await countPendingOf(db, principal.userId);
  return [{ name: "pending_invitations" as const, limit: config.maxInvitationsPerUser, used }];
}

/** An API token has one, in its organization, and none after its creator left that. */
async function listCallerRoles({ access }: Router, deps: Deps, principal: Principal): Promise<CallerRole[]> {
  if (principal.kind === "user") return listRolesOf(deps.db, principal.userId);
  const membership = await access.findMembership(principal, principal.orgId);
  if (membership === undefined) return [];
  const { role, rights } = membership;
  return [{ organization: organizationOfMembership(membership), role, rights }];
}

/** A user sees every organization with a membership; a token its own, if it may read it. */
async function listOrganizations(
  router: Router,
  deps: Deps,
  principal: Principal,
  { slug, ...page }: PageRequest & { slug?: string | undefined },
): Promise<OrganizationRow[]> {
  if (principal.kind === "user" && slug === undefined)
    return listOrganizationsOf(deps.db, principal.userId, page);
  const roles = await listCallerRoles(router, deps, principal);
  return roles
    .filter(({ rights }) => rights.has("organization:read"))
    .map(({ organization }) => organization)
    .filter((organization) => slug === undefined || organization.slug === slug)
    .filter(({ id }) => page.cursor === undefined || id > page.cursor);
}

function addAccept(router: Router<Deps>, hooks: MemberHooks): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${INVITATION}/accept`,
      operationId: "acceptInvitation",
      tag,
      summary: "Accept an invitation",
      description:
        "Makes the caller a direct member of the organization, in place of a membership by a group. The invitation must be for the caller's e-mail address, verified by the issuer.",
      access: "user",
      responses: { 200: { description: "The member.", body: memberRecord, headers: ["ETag"] } },
      errors: ["conflict"],
    },
    async (c, { deps, author, params, transact }) =>
      transact(
        (tx) => acceptInvitation(tx, hooks, author, params.invitationID),
        ({ member }) => c.json(presentMember(member), 200, { ETag: versionTag(member.version) }),
        {
          afterCommit: async ({ member, isAccessLost }) => {
            if (isAccessLost) await hooks.afterClusterAccessLost(deps, member.orgId);
          },
        },
      ),
  );
}

function addDecline(router: Router): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${INVITATION}/decline`,
      operationId: "declineInvitation",
      tag,
      summary: "Decline an invitation",
      access: "user",
      responses: { 204: { description: "Declined; the invitation is removed." } },
      errors: ["conflict"],
    },
    async (c, { author, params, transact }) =>
      transact(
        (tx) => declineInvitation(tx, author, params.invitationID),
        () => c.body(null, 204),
      ),
  );
}

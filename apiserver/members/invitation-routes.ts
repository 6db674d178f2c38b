import { addRoute } from "../http/contract/add-route.ts";
import { versionTag } from "../http/contract/etag.ts";
import type { Router } from "../http/contract/router.ts";
import type { MemberHooks } from "./hooks.ts";
import { acceptInvitation, declineInvitation } from "./invitations.ts";
import { presentMember } from "./present.ts";
import { memberRecord } from "./schema.ts";

const tag = "Members";
const RECORD = "/api/v1/me/invitations/{invitationID}";

/** What invited persons answer; GET /me lists their invitations. */
export function addInvitationRoutes(router: Router, hooks: MemberHooks): void {
  addAccept(router, hooks);
  addDecline(router);
}

function addAccept(router: Router, hooks: MemberHooks): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${RECORD}/accept`,
      operationId: "acceptInvitation",
      tag,
      summary: "Accept an invitation",
      description:
        "Makes the caller a direct member of the organization, in place of a membership by a group. The invitation must be for the caller's e-mail address, verified by the issuer.",
      access: "user",
      responses: { 200: { description: "The member.", body: memberRecord, headers: ["ETag"] } },
      errors: ["conflict"],
    },
    async (c, { author, params, transact }) =>
      transact(
        (tx) => acceptInvitation(tx, hooks, author, params.invitationID),
        ({ member }) => c.json(presentMember(member), 200, { ETag: versionTag(member.version) }),
        {
          afterCommit: async ({ member, isAccessLost }) => {
            if (isAccessLost) await hooks.afterClusterAccessLost(member.orgId);
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
      path: `${RECORD}/decline`,
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

import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { addMessage } from "./add-message.ts";
import { requireRoomForMessage } from "./limits.ts";
import { listMessages } from "./message-store.ts";
import { presentMessage } from "./present.ts";
import { createTicketMessageBody, ticketMessagePage, ticketMessageRecord } from "./schema.ts";
import { lockTicket, requireTicket } from "./store.ts";
import { ticketScopeOf } from "./ticket-access.ts";

const tag = "Support";
const COLLECTION = "/api/v1/organizations/{orgID}/tickets/{ticketID}/messages";

/** The public messages of an organization's tickets, for its members. */
export function addMessageRoutes(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listTicketMessages",
      tag,
      summary: "List the messages of a ticket",
      access: "tickets:read",
      query: pageQuery,
      responses: { 200: { description: "A page, the oldest first.", body: ticketMessagePage } },
    },
    async (c, { membership, params, query }) => {
      const ticket = await requireTicket(deps.db, ticketScopeOf(membership), params.ticketID);
      const rows = await listMessages(deps.db, ticket, { internal: false }, query);
      return c.json(toPage(rows, query.limit, presentMessage), 200);
    },
  );

  addRoute(
    router,
    {
      method: "post",
      path: COLLECTION,
      operationId: "createTicketMessage",
      tag,
      summary: "Write a message",
      description:
        "It moves a ticket that waits for the organization to `open`. One that is resolved stays so until it is opened again; a closed one takes no messages.",
      access: "tickets:reply",
      body: createTicketMessageBody,
      responses: {
        201: {
          description: "Written; Location is that of the list.",
          body: ticketMessageRecord,
          headers: ["Location"],
        },
      },
      errors: ["conflict", "quota_exceeded"],
    },
    async (c, { origin, membership, params, readBody, transact }) => {
      await requireTicket(deps.db, ticketScopeOf(membership), params.ticketID);
      const { body, attachment_ids: attachmentIds } = await readBody();
      return transact(
        async (tx, { id }, confirmed) => {
          const before = await lockTicket(tx, ticketScopeOf(confirmed.membership), params.ticketID);
          const circumstances = {
            by: "tenant" as const,
            at: deps.now(),
            targets: deps.config.responseTargets,
          };
          const { ticketLimits: limits } = deps.config;
          await requireRoomForMessage(tx, { at: circumstances.at, limits }, before);
          return addMessage(tx, origin, before, { id, body, attachmentIds }, circumstances);
        },
        ({ message }) =>
          c.json(presentMessage(message), 201, {
            Location: COLLECTION.replace("{orgID}", membership.orgId).replace("{ticketID}", params.ticketID),
          }),
      );
    },
  );
}

import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { addInternalNote, addMessage } from "./add-message.ts";
import { requireCapacityForMessage } from "./limits.ts";
import type { TicketMetrics } from "./metrics.ts";
import { presentAdminMessage, presentMessage } from "./present.ts";
import {
  adminTicketMessagePage,
  adminTicketMessageRecord,
  createAdminTicketMessageBody,
  createTicketMessageBody,
  ticketMessagePage,
  ticketMessageRecord,
} from "./schema.ts";
import { listMessages, lockTicket, requireOrganizationOf, requireTicket } from "./store.ts";
import { ticketScopeOf } from "./ticket-access.ts";

const tag = "Support";
const COLLECTION = "/api/v1/organizations/{orgID}/tickets/{ticketID}/messages";
const ADMIN_TAG = "Platform administration";
const ADMIN_COLLECTION = "/api/v1/admin/tickets/{ticketID}/messages";

/** The public messages of an organization's tickets, for its members. */
export function addMessageRoutes(router: Router<Deps>): void {
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
    async (c, { deps, membership, params, query }) => {
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
    async (c, { deps, author, membership, params, readBody, transact }) => {
      await requireTicket(deps.db, ticketScopeOf(membership), params.ticketID);
      const { body, attachment_ids: attachmentIds } = await readBody();
      return transact(
        async (tx, { id }, confirmed) => {
          const before = await lockTicket(tx, ticketScopeOf(confirmed.membership), params.ticketID);
          const timing = {
            by: "tenant" as const,
            at: deps.now(),
            targets: deps.config.responseTargets,
          };
          const { ticketLimits: limits } = deps.config;
          await requireCapacityForMessage(tx, { at: timing.at, limits }, before);
          return addMessage(tx, author, before, { id, body, attachmentIds }, timing);
        },
        ({ message }) =>
          c.json(presentMessage(message), 201, {
            Location: COLLECTION.replace("{orgID}", membership.orgId).replace("{ticketID}", params.ticketID),
          }),
      );
    },
  );
}

/** The messages of the tickets of all organizations, internal notes too, for the platform's staff. */
export function addAdminMessageRoutes(router: Router<Deps>, metrics: TicketMetrics): void {
  addRoute(
    router,
    {
      method: "get",
      path: ADMIN_COLLECTION,
      operationId: "listAdminTicketMessages",
      tag: ADMIN_TAG,
      summary: "List the messages of any ticket",
      access: "platform-admin",
      query: pageQuery,
      responses: {
        200: {
          description: "A page, the oldest first, with internal notes.",
          body: adminTicketMessagePage,
        },
      },
    },
    async (c, { deps, params, query }) => {
      const orgId = await requireOrganizationOf(deps.db, params.ticketID);
      const rows = await listMessages(deps.db, { id: params.ticketID, orgId }, { internal: true }, query);
      return c.json(toPage(rows, query.limit, presentAdminMessage), 200);
    },
  );

  addRoute(
    router,
    {
      method: "post",
      path: ADMIN_COLLECTION,
      operationId: "createAdminTicketMessage",
      tag: ADMIN_TAG,
      summary: "Answer any ticket, or add an internal note",
      description:
        "The first answer sets `first_response_at`; no answer changes the status. An internal note changes nothing that the organization sees.",
      access: "platform-admin",
      body: createAdminTicketMessageBody,
      responses: {
        201: {
          description: "Written; Location is that of the list.",
          body: adminTicketMessageRecord,
          headers: ["Location"],
        },
      },
      errors: ["conflict"],
    },
    async (c, { deps, author, params, readBody, transact }) => {
      const orgId = await requireOrganizationOf(deps.db, params.ticketID);
      const { body, internal, attachment_ids: attachmentIds } = await readBody();
      return transact(
        async (tx, { id }) => {
          const before = await lockTicket(tx, { orgId }, params.ticketID);
          const at = deps.now();
          if (internal) return addInternalNote(tx, author, before, { id, body, attachmentIds }, at);
          const timing = { by: "provider" as const, at, targets: deps.config.responseTargets };
          return addMessage(tx, author, before, { id, body, attachmentIds }, timing);
        },
        ({ message }) =>
          c.json(presentAdminMessage(message), 201, {
            Location: ADMIN_COLLECTION.replace("{ticketID}", params.ticketID),
          }),
        {
          async afterCommit({ response }) {
            if (response !== undefined) metrics.onResponse(response);
          },
        },
      );
    },
  );
}

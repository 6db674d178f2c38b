import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { addInternalNote, addMessage } from "./add-message.ts";
import { listMessages } from "./message-store.ts";
import type { TicketMetrics } from "./metrics.ts";
import { presentAdminMessage } from "./present.ts";
import { adminTicketMessagePage, adminTicketMessageRecord, createAdminTicketMessageBody } from "./schema.ts";
import { lockTicket, requireOrganizationOf } from "./store.ts";

const tag = "Platform administration";
const COLLECTION = "/api/v1/admin/tickets/{ticketID}/messages";

/** The messages of the tickets of all organizations, internal notes too, for the platform's staff. */
export function addAdminMessageRoutes(router: Router, deps: Deps, metrics: TicketMetrics): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listAdminTicketMessages",
      tag,
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
    async (c, { params, query }) => {
      const orgId = await requireOrganizationOf(deps.db, params.ticketID);
      const rows = await listMessages(deps.db, { id: params.ticketID, orgId }, { internal: true }, query);
      return c.json(toPage(rows, query.limit, presentAdminMessage), 200);
    },
  );

  addRoute(
    router,
    {
      method: "post",
      path: COLLECTION,
      operationId: "createAdminTicketMessage",
      tag,
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
    async (c, { origin, params, readBody, transact }) => {
      const orgId = await requireOrganizationOf(deps.db, params.ticketID);
      const { body, internal, attachment_ids: attachmentIds } = await readBody();
      return transact(
        async (tx, { id }) => {
          const before = await lockTicket(tx, { orgId }, params.ticketID);
          const at = deps.now();
          if (internal) return addInternalNote(tx, origin, before, { id, body, attachmentIds }, at);
          const circumstances = { by: "provider" as const, at, targets: deps.config.responseTargets };
          return addMessage(tx, origin, before, { id, body, attachmentIds }, circumstances);
        },
        ({ message }) =>
          c.json(presentAdminMessage(message), 201, {
            Location: COLLECTION.replace("{ticketID}", params.ticketID),
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

import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified } from "../http/contract/etag.ts";
import { toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { changeTicket } from "./changes.ts";
import { presentTicket, ticketTag } from "./present.ts";
import { adminTicketListQuery, ticketPage, ticketRecord, updateAdminTicketBody } from "./schema.ts";
import {
  listAllTickets,
  lockTicket,
  requireOrganizationOf,
  requireTicket,
  searchAllTickets,
} from "./store.ts";

const tag = "Platform administration";
const COLLECTION = "/api/v1/admin/tickets";
const RECORD = `${COLLECTION}/{ticketID}`;

/** The tickets of all organizations, deleted ones too, for the platform's staff. */
export function addAdminTicketRoutes(router: Router, deps: Deps): void {
  addReads(router, deps);
  addUpdate(router, deps);
}

function addReads(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listAdminTickets",
      tag,
      summary: "List the tickets of all organizations",
      access: "platform-admin",
      query: adminTicketListQuery,
      responses: { 200: { description: "A page, the newest first.", body: ticketPage } },
    },
    async (c, { query: { q, ...query } }) => {
      const now = deps.now();
      const rows =
        q === undefined
          ? await listAllTickets(deps.db, query, now)
          : await searchAllTickets(deps.db, q, query, now);
      return c.json(
        toPage(rows, query.limit, (row) => presentTicket(row, now)),
        200,
      );
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getAdminTicket",
      tag,
      summary: "Get the ticket of any organization",
      access: "platform-admin",
      responses: {
        200: { description: "The ticket.", body: ticketRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { params }) => {
      const orgId = await requireOrganizationOf(deps.db, params.ticketID);
      const row = await requireTicket(deps.db, { orgId }, params.ticketID);
      const now = deps.now();
      const etag = ticketTag(row, now);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentTicket(row, now), 200, { ETag: etag });
    },
  );
}

function addUpdate(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "put",
      path: RECORD,
      operationId: "updateAdminTicket",
      tag,
      summary: "Change the ticket of any organization",
      description:
        "Partial: omitted fields are unchanged. Staff gives a ticket any status, whatever it has. A change of the status alone is sent to webhooks.",
      access: "platform-admin",
      body: updateAdminTicketBody,
      responses: { 200: { description: "The ticket.", body: ticketRecord, headers: ["ETag"] } },
      errors: ["precondition_failed"],
    },
    async (c, { origin, params, readBody, change }) => {
      const orgId = await requireOrganizationOf(deps.db, params.ticketID);
      const { status, severity, category, assigned_to: assignedTo } = await readBody();
      const row = await change({
        lock: (tx) => lockTicket(tx, { orgId }, params.ticketID),
        tag: (before) => ticketTag(before, deps.now()),
        fixed(before) {
          const { id, org_id, cluster_id, subject } = presentTicket(before, deps.now());
          return { id, org_id, cluster_id, subject };
        },
        apply(tx, before) {
          const circumstances = {
            by: "provider" as const,
            at: deps.now(),
            targets: deps.config.responseTargets,
          };
          return changeTicket(tx, origin, before, { status, severity, category, assignedTo }, circumstances);
        },
      });
      const now = deps.now();
      return c.json(presentTicket(row, now), 200, { ETag: ticketTag(row, now) });
    },
  );
}

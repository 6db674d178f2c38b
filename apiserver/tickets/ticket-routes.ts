import { createId } from "../../shared/program/id.ts";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified } from "../http/contract/etag.ts";
import { toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { changeTicket, createTicket } from "./changes.ts";
import { requireRoomForTicket } from "./limits.ts";
import { presentTicket, ticketTag } from "./present.ts";
import { createTicketBody, ticketListQuery, ticketPage, ticketRecord, updateTicketBody } from "./schema.ts";
import { listTickets, lockTicket, requireTicket } from "./store.ts";
import { requireCategory, ticketScopeOf } from "./ticket-access.ts";

const tag = "Support";
const COLLECTION = "/api/v1/organizations/{orgID}/tickets";
const RECORD = `${COLLECTION}/{ticketID}`;

/** The tickets of an organization, for its members. */
export function addOrganizationTicketRoutes(router: Router, deps: Deps): void {
  addCreate(router, deps);
  addReads(router, deps);
  addUpdate(router, deps);
}

function addCreate(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "post",
      path: COLLECTION,
      operationId: "createTicket",
      tag,
      summary: "Open a ticket",
      description:
        "The body becomes its first message. `respond_by` is when the platform's staff responds at the latest. The role billing opens tickets of the category billing only.",
      access: "tickets:create",
      body: createTicketBody,
      responses: {
        201: { description: "Opened.", body: ticketRecord, headers: ["Location", "ETag"] },
      },
      errors: ["conflict", "quota_exceeded"],
    },
    async (c, { orgId, origin, readBody, transact }) => {
      const { cluster_id: clusterId = null, ...ticket } = await readBody();
      return transact(
        async (tx, { id }, { membership }) => {
          requireCategory(ticketScopeOf(membership), ticket.category);
          const circumstances = { at: deps.now(), targets: deps.config.responseTargets };
          const { ticketLimits: limits } = deps.config;
          await requireRoomForTicket(tx, { orgId, at: circumstances.at, limits });
          const values = { id, messageId: createId(), clusterId, ...ticket };
          return createTicket(tx, origin, orgId, values, circumstances);
        },
        (row) => {
          const now = deps.now();
          const headers = {
            Location: `/api/v1/organizations/${orgId}/tickets/${row.id}`,
            ETag: ticketTag(row, now),
          };
          return c.json(presentTicket(row, now), 201, headers);
        },
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
      operationId: "listTickets",
      tag,
      summary: "List tickets",
      description: "The role billing sees those of the category billing only.",
      access: "tickets:read",
      query: ticketListQuery,
      responses: { 200: { description: "A page, the newest first.", body: ticketPage } },
    },
    async (c, { membership, query }) => {
      const rows = await listTickets(deps.db, ticketScopeOf(membership), query);
      const now = deps.now();
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
      operationId: "getTicket",
      tag,
      summary: "Get a ticket",
      access: "tickets:read",
      responses: {
        200: { description: "The ticket.", body: ticketRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { membership, params }) => {
      const row = await requireTicket(deps.db, ticketScopeOf(membership), params.ticketID);
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
      operationId: "updateTicket",
      tag,
      summary: "Close or reopen a ticket",
      description:
        "Members close a ticket, and open a resolved one again; any other change of the status is a conflict. To answer a ticket that waits for the organization, write a message.",
      access: "tickets:reply",
      body: updateTicketBody,
      responses: { 200: { description: "The ticket.", body: ticketRecord, headers: ["ETag"] } },
      errors: ["conflict", "precondition_failed"],
    },
    async (c, { origin, membership, params, readBody, change }) => {
      await requireTicket(deps.db, ticketScopeOf(membership), params.ticketID);
      const { status } = await readBody();
      const row = await change({
        async lock(tx, confirmed) {
          const scope = ticketScopeOf((await confirmed).membership);
          return lockTicket(tx, scope, params.ticketID);
        },
        tag: (before) => ticketTag(before, deps.now()),
        fixed(before) {
          const { id, org_id, cluster_id, subject, category, severity } = presentTicket(before, deps.now());
          return { id, org_id, cluster_id, subject, category, severity };
        },
        apply(tx, before) {
          const circumstances = {
            by: "tenant" as const,
            at: deps.now(),
            targets: deps.config.responseTargets,
          };
          return changeTicket(tx, origin, before, { status }, circumstances);
        },
      });
      const now = deps.now();
      return c.json(presentTicket(row, now), 200, { ETag: ticketTag(row, now) });
    },
  );
}

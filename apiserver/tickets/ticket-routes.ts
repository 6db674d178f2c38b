import { createId } from "../../shared/program/id.ts";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified } from "../http/contract/etag.ts";
import { toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { lockOrganization } from "../organizations/index.ts";
import { changeTicket, createTicket } from "./changes.ts";
import { requireCapacityForTicket } from "./limits.ts";
import { presentTicket, ticketTag } from "./present.ts";
import {
  adminTicketListQuery,
  createTicketBody,
  ticketListQuery,
  ticketPage,
  ticketRecord,
  updateAdminTicketBody,
  updateTicketBody,
} from "./schema.ts";
import {
  listAllTickets,
  listTickets,
  lockTicket,
  requireOrganizationOf,
  requireTicket,
  searchAllTickets,
} from "./store.ts";
import type { TicketRow } from "./table.ts";
import { requireCategory, ticketScopeOf } from "./ticket-access.ts";

const tag = "Support";
const COLLECTION = "/api/v1/organizations/{orgID}/tickets";
const RECORD = `${COLLECTION}/{ticketID}`;
const ADMIN_TAG = "Platform administration";
const ADMIN_COLLECTION = "/api/v1/admin/tickets";
const ADMIN_RECORD = `${ADMIN_COLLECTION}/{ticketID}`;

/** The tickets of an organization, for its members. */
export function addOrganizationTicketRoutes(router: Router<Deps>): void {
  addCreate(router);
  addReads(router);
  addUpdate(router);
}

function addCreate(router: Router<Deps>): void {
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
    async (c, { deps, orgId, author, readBody, transact }) => {
      const { cluster_id: clusterId = null, ...ticket } = await readBody();
      return transact(
        async (tx, { id }, { membership }) => {
          requireCategory(ticketScopeOf(membership), ticket.category);
          const timing = { at: deps.now(), targets: deps.config.responseTargets };
          const { ticketLimits: limits } = deps.config;
          await requireCapacityForTicket(tx, { orgId, at: timing.at, limits });
          const values = { id, messageId: createId(), clusterId, ...ticket };
          return createTicket(tx, author, orgId, values, timing);
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

function addReads(router: Router<Deps>): void {
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
    async (c, { deps, membership, query }) => {
      const rows = await listTickets(deps.db, ticketScopeOf(membership), query);
      return c.json(toTicketPage(rows, query.limit, deps.now()), 200);
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
    async (c, { deps, membership, params }) => {
      const row = await requireTicket(deps.db, ticketScopeOf(membership), params.ticketID);
      const now = deps.now();
      const etag = ticketTag(row, now);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentTicket(row, now), 200, { ETag: etag });
    },
  );
}

function addUpdate(router: Router<Deps>): void {
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
    async (c, { deps, author, membership, params, readBody, change }) => {
      await requireTicket(deps.db, ticketScopeOf(membership), params.ticketID);
      const { status } = await readBody();
      const row = await change({
        async lock(tx, confirmed) {
          const scope = ticketScopeOf((await confirmed).membership);
          return lockTicket(tx, scope, params.ticketID);
        },
        tag: (before) => ticketTag(before, deps.now()),
        immutable(before) {
          const { id, org_id, cluster_id, subject, category, severity } = presentTicket(before, deps.now());
          return { id, org_id, cluster_id, subject, category, severity };
        },
        apply(tx, before) {
          const timing = {
            by: "tenant" as const,
            at: deps.now(),
            targets: deps.config.responseTargets,
          };
          return changeTicket(tx, author, before, { status }, timing);
        },
      });
      const now = deps.now();
      return c.json(presentTicket(row, now), 200, { ETag: ticketTag(row, now) });
    },
  );
}

/** The tickets of all organizations, deleted ones too, for the platform's staff. */
export function addAdminTicketRoutes(router: Router<Deps>): void {
  addAdminReads(router);
  addAdminUpdate(router);
}

function addAdminReads(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: ADMIN_COLLECTION,
      operationId: "listAdminTickets",
      tag: ADMIN_TAG,
      summary: "List the tickets of all organizations",
      access: "platform-admin",
      query: adminTicketListQuery,
      responses: { 200: { description: "A page, the newest first.", body: ticketPage } },
    },
    async (c, { deps, query: { q, ...query } }) => {
      const now = deps.now();
      const rows =
        q === undefined
          ? await listAllTickets(deps.db, query, now)
          : await searchAllTickets(deps.db, q, query, now);
      return c.json(toTicketPage(rows, query.limit, now), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: ADMIN_RECORD,
      operationId: "getAdminTicket",
      tag: ADMIN_TAG,
      summary: "Get the ticket of any organization",
      access: "platform-admin",
      responses: {
        200: { description: "The ticket.", body: ticketRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, params }) => {
      const orgId = await requireOrganizationOf(deps.db, params.ticketID);
      const row = await requireTicket(deps.db, { orgId }, params.ticketID);
      const now = deps.now();
      const etag = ticketTag(row, now);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentTicket(row, now), 200, { ETag: etag });
    },
  );
}

function addAdminUpdate(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "put",
      path: ADMIN_RECORD,
      operationId: "updateAdminTicket",
      tag: ADMIN_TAG,
      summary: "Change the ticket of any organization",
      description:
        "Partial: omitted fields are unchanged. Staff gives a ticket any status, whatever it has; one of a deleted organization cannot be changed. A change of the status alone is sent to webhooks.",
      access: "platform-admin",
      body: updateAdminTicketBody,
      responses: { 200: { description: "The ticket.", body: ticketRecord, headers: ["ETag"] } },
      errors: ["conflict", "precondition_failed"],
    },
    async (c, { deps, author, params, readBody, change }) => {
      const orgId = await requireOrganizationOf(deps.db, params.ticketID);
      const { status, severity, category, assigned_to: assignedTo } = await readBody();
      const row = await change({
        async lock(tx) {
          // The tickets of a deleted organization stay closed.
          await lockOrganization(tx, orgId);
          return lockTicket(tx, { orgId }, params.ticketID);
        },
        tag: (before) => ticketTag(before, deps.now()),
        immutable(before) {
          const { id, org_id, cluster_id, subject } = presentTicket(before, deps.now());
          return { id, org_id, cluster_id, subject };
        },
        apply(tx, before) {
          const timing = {
            by: "provider" as const,
            at: deps.now(),
            targets: deps.config.responseTargets,
          };
          return changeTicket(tx, author, before, { status, severity, category, assignedTo }, timing);
        },
      });
      const now = deps.now();
      return c.json(presentTicket(row, now), 200, { ETag: ticketTag(row, now) });
    },
  );
}

/** The wire form of a page of tickets, which depends on the time. */
function toTicketPage(rows: readonly TicketRow[], limit: number, now: Date) {
  return toPage(rows, limit, (row) => presentTicket(row, now));
}

import type { Context } from "hono";
import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { transactAs } from "../../http/contract/caller.ts";
import { pageQuery, toPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import type { HttpEnv } from "../../http/env.ts";
import { requireCapacityForAttachment } from "../limits.ts";
import { lockTicket, requireOrganizationOf, requireTicket } from "../store.ts";
import { ticketScopeOf } from "../ticket-access.ts";
import {
  announceAttachment,
  attachmentScope,
  confirmAttachment,
  findAnnounced,
  moveUpload,
} from "./changes.ts";
import type { StoreAccess } from "./objects/use-store.ts";
import { type NewAttachment, presentAttachment } from "./present.ts";
import { attachmentPage, attachmentRecord, createAttachmentBody, newAttachmentRecord } from "./schema.ts";
import { type AttachmentScope, listAttachments, requireAttachment } from "./store.ts";
import { signDownload, signUpload } from "./stored-file.ts";
import type { AttachmentRow } from "./table.ts";

const tag = "Support";
const COLLECTION = "/api/v1/organizations/{orgID}/tickets/{ticketID}/attachments";
const RECORD = `${COLLECTION}/{attachmentID}` as const;
const ADMIN_TAG = "Platform administration";
const ADMIN_COLLECTION = "/api/v1/admin/tickets/{ticketID}/attachments";
const ADMIN_RECORD = `${ADMIN_COLLECTION}/{attachmentID}` as const;
const ANNOUNCEMENT = {
  method: "post",
  description:
    "Then upload the bytes by the request in `upload`, complete the attachment, and write a message with its id in `attachment_ids`. What no message has taken within an hour is removed.",
  body: createAttachmentBody,
  responses: {
    201: {
      description: "Announced; only the caller sees it until a message has it.",
      body: newAttachmentRecord,
      headers: ["Location"],
    },
  },
} as const;

/** The attachments of an organization's tickets, for its members. */
export function addAttachmentRoutes(router: Router<Deps>, store: StoreAccess): void {
  addCreate(router, store);
  addComplete(router, store);
  addReads(router, store);
}

/** The response to an announcement or completion, and how a repeated request finds that of the first. */
function respondAnnounced(c: Context<HttpEnv>, deps: Deps, store: StoreAccess, seen: AttachmentScope) {
  const accept = (record: NewAttachment) => c.json(record, 201, { Location: `${c.req.path}/${record.id}` });
  const resume = async ({ id }: { id: string }) => {
    const record = await findAnnounced(deps, store.use, seen, id);
    return record && accept(record);
  };
  return { accept, resume };
}

function respondCompleted(c: Context<HttpEnv>, { db }: Deps, seen: AttachmentScope, id: string) {
  const accept = (row: AttachmentRow) => c.json(presentAttachment(row), 200);
  const resume = async () => {
    const row = await requireAttachment(db, seen, id);
    return row.completedAt === null ? undefined : accept(row);
  };
  return { accept, resume };
}

function addCreate(router: Router<Deps>, store: StoreAccess): void {
  addRoute(
    router,
    {
      ...ANNOUNCEMENT,
      path: COLLECTION,
      operationId: "createTicketAttachment",
      tag,
      summary: "Announce an attachment",
      access: "tickets:attach",
      errors: ["conflict", "quota_exceeded", "attachments_unavailable"],
    },
    async (c, { deps, author, caller, membership, params, readBody, runOnce }) => {
      const ticket = await requireTicket(deps.db, ticketScopeOf(membership), params.ticketID);
      store.requireConfigured();
      const { content_type: contentType, size_bytes: sizeBytes, filename, sha256 } = await readBody();
      const file = { filename, contentType, sizeBytes, sha256 };
      const seen = attachmentScope(author, ticket, "tenant");
      const { accept, resume } = respondAnnounced(c, deps, store, seen);
      return runOnce({ resume }, async ({ id }) => {
        const at = deps.now();
        const upload = await signUpload(store.use, { ...seen, id, ...file }, at);
        const row = await transactAs(deps.db, caller, async (tx, confirmed) => {
          const locked = await lockTicket(tx, ticketScopeOf(confirmed.membership), params.ticketID);
          await requireCapacityForAttachment(tx, { at, limits: deps.config.ticketLimits }, locked, sizeBytes);
          return announceAttachment(tx, author, locked, seen, { id, at, ...file });
        });
        return accept({ ...presentAttachment(row), upload });
      });
    },
  );
}

function addComplete(router: Router<Deps>, store: StoreAccess): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${RECORD}/complete`,
      operationId: "completeTicketAttachment",
      tag,
      summary: "Complete the upload of an attachment",
      description: "Compares what was uploaded with what was announced. After that a message can have it.",
      access: "tickets:attach",
      responses: { 200: { description: "Completed.", body: attachmentRecord } },
      errors: ["conflict", "attachments_unavailable"],
    },
    async (c, { deps, author, caller, membership, params, runOnce }) => {
      const before = await requireTicket(deps.db, ticketScopeOf(membership), params.ticketID);
      store.requireConfigured();
      const seen = attachmentScope(author, before, "tenant");
      const announced = await requireAttachment(deps.db, seen, params.attachmentID);
      const { accept, resume } = respondCompleted(c, deps, seen, announced.id);
      return runOnce({ resume }, async () => {
        // What is moved for one whose right ends after this, the sweeper removes.
        await transactAs(deps.db, caller, async () => undefined);
        await moveUpload(store.use, announced);
        const row = await transactAs(deps.db, caller, async (tx, confirmed) => {
          const ticket = await lockTicket(tx, ticketScopeOf(confirmed.membership), params.ticketID);
          return confirmAttachment(tx, author, ticket, seen, { id: announced.id, at: deps.now() });
        });
        return accept(row);
      });
    },
  );
}

function addReads(router: Router<Deps>, store: StoreAccess): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listTicketAttachments",
      tag,
      summary: "List the attachments of a ticket",
      description: "Those of messages, and the caller's own that no message has yet.",
      access: "tickets:read",
      query: pageQuery,
      responses: { 200: { description: "A page, the oldest first.", body: attachmentPage } },
    },
    async (c, { deps, author, membership, params, query }) => {
      const ticket = await requireTicket(deps.db, ticketScopeOf(membership), params.ticketID);
      const rows = await listAttachments(deps.db, attachmentScope(author, ticket, "tenant"), query);
      return c.json(toPage(rows, query.limit, presentAttachment), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getTicketAttachment",
      tag,
      summary: "Download an attachment",
      description:
        "Redirects to an address of the object store that gives the bytes for a minute, as a download whatever their type. Send no credential of this API there.",
      access: "tickets:read",
      responses: { 302: { description: "Where the bytes are.", headers: ["RedirectLocation"] } },
      errors: ["conflict", "attachments_unavailable"],
    },
    async (c, { deps, author, membership, params }) => {
      const ticket = await requireTicket(deps.db, ticketScopeOf(membership), params.ticketID);
      const scope = attachmentScope(author, ticket, "tenant");
      store.requireConfigured();
      const row = await requireAttachment(deps.db, scope, params.attachmentID);
      return c.body(null, 302, { Location: await signDownload(store.use, row), "Cache-Control": "no-store" });
    },
  );
}

/** The attachments of the tickets of all organizations, those of internal notes too, for the platform's staff. */
export function addAdminAttachmentRoutes(router: Router<Deps>, store: StoreAccess): void {
  addAdminCreate(router, store);
  addAdminComplete(router, store);
  addAdminReads(router, store);
}

function addAdminCreate(router: Router<Deps>, store: StoreAccess): void {
  addRoute(
    router,
    {
      ...ANNOUNCEMENT,
      path: ADMIN_COLLECTION,
      operationId: "createAdminTicketAttachment",
      tag: ADMIN_TAG,
      summary: "Announce an attachment of any ticket",
      access: "platform-admin",
      errors: ["conflict", "attachments_unavailable"],
    },
    async (c, { deps, author, caller, params, readBody, runOnce }) => {
      const orgId = await requireOrganizationOf(deps.db, params.ticketID);
      store.requireConfigured();
      const { content_type: contentType, size_bytes: sizeBytes, filename, sha256 } = await readBody();
      const file = { filename, contentType, sizeBytes, sha256 };
      const seen = attachmentScope(author, { id: params.ticketID, orgId }, "provider");
      const { accept, resume } = respondAnnounced(c, deps, store, seen);
      return runOnce({ resume }, async ({ id }) => {
        const at = deps.now();
        const upload = await signUpload(store.use, { ...seen, id, ...file }, at);
        const row = await transactAs(deps.db, caller, async (tx) => {
          const ticket = await lockTicket(tx, { orgId }, params.ticketID);
          return announceAttachment(tx, author, ticket, seen, { id, at, ...file });
        });
        return accept({ ...presentAttachment(row), upload });
      });
    },
  );
}

function addAdminComplete(router: Router<Deps>, store: StoreAccess): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${ADMIN_RECORD}/complete`,
      operationId: "completeAdminTicketAttachment",
      tag: ADMIN_TAG,
      summary: "Complete the upload of an attachment of any ticket",
      description: "Compares what was uploaded with what was announced. After that a message can have it.",
      access: "platform-admin",
      responses: { 200: { description: "Completed.", body: attachmentRecord } },
      errors: ["conflict", "attachments_unavailable"],
    },
    async (c, { deps, author, caller, params, runOnce }) => {
      const orgId = await requireOrganizationOf(deps.db, params.ticketID);
      store.requireConfigured();
      const seen = attachmentScope(author, { id: params.ticketID, orgId }, "provider");
      const announced = await requireAttachment(deps.db, seen, params.attachmentID);
      const { accept, resume } = respondCompleted(c, deps, seen, announced.id);
      return runOnce({ resume }, async () => {
        await transactAs(deps.db, caller, async () => undefined);
        await moveUpload(store.use, announced);
        const row = await transactAs(deps.db, caller, async (tx) => {
          const ticket = await lockTicket(tx, { orgId }, params.ticketID);
          return confirmAttachment(tx, author, ticket, seen, { id: announced.id, at: deps.now() });
        });
        return accept(row);
      });
    },
  );
}

function addAdminReads(router: Router<Deps>, store: StoreAccess): void {
  addRoute(
    router,
    {
      method: "get",
      path: ADMIN_COLLECTION,
      operationId: "listAdminTicketAttachments",
      tag: ADMIN_TAG,
      summary: "List the attachments of any ticket",
      description:
        "Those of messages, internal notes included, and the caller's own that no message has yet.",
      access: "platform-admin",
      query: pageQuery,
      responses: { 200: { description: "A page, the oldest first.", body: attachmentPage } },
    },
    async (c, { deps, author, params, query }) => {
      const orgId = await requireOrganizationOf(deps.db, params.ticketID);
      const scope = attachmentScope(author, { id: params.ticketID, orgId }, "provider");
      const rows = await listAttachments(deps.db, scope, query);
      return c.json(toPage(rows, query.limit, presentAttachment), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: ADMIN_RECORD,
      operationId: "getAdminTicketAttachment",
      tag: ADMIN_TAG,
      summary: "Download an attachment of any ticket",
      description:
        "Redirects to an address of the object store that gives the bytes for a minute, as a download whatever their type. Send no credential of this API there.",
      access: "platform-admin",
      responses: { 302: { description: "Where the bytes are.", headers: ["RedirectLocation"] } },
      errors: ["conflict", "attachments_unavailable"],
    },
    async (c, { deps, author, params }) => {
      const orgId = await requireOrganizationOf(deps.db, params.ticketID);
      store.requireConfigured();
      const scope = attachmentScope(author, { id: params.ticketID, orgId }, "provider");
      const row = await requireAttachment(deps.db, scope, params.attachmentID);
      return c.body(null, 302, { Location: await signDownload(store.use, row), "Cache-Control": "no-store" });
    },
  );
}

import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { pageQuery, toPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import { notFound } from "../../http/errors.ts";
import { requireOrganization } from "../../organizations/index.ts";
import { hasInvoices } from "../invoices/store.ts";
import { issueCreditNote } from "./issue.ts";
import { presentCreditNote, presentCreditNoteSummary } from "./present.ts";
import { createCreditNoteBody, creditNotePage, creditNoteRecord } from "./schema.ts";
import { findCreditNote, listAllCreditNotes, listCreditNotes, readCreditNoteLines } from "./store.ts";

const tag = "Billing";
const ADMIN_TAG = "Platform administration";
const COLLECTION = "/api/v1/organizations/{orgID}/billing/credit-notes";

/** Operations on credit notes. */
export function addCreditNoteRoutes(router: Router, deps: Deps): void {
  addCreate(router, deps);
  addReads(router, deps);
}

function addCreate(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "post",
      path: "/api/v1/admin/organizations/{orgID}/credit-notes",
      operationId: "createCreditNote",
      tag: ADMIN_TAG,
      summary: "Issue a credit note",
      description:
        "Gives back a part of an invoice, or all of it. An issued credit note cannot be changed. Send an Idempotency-Key, so that a repeated request gives nothing back twice.",
      access: "platform-admin",
      body: createCreditNoteBody,
      responses: {
        201: { description: "Issued.", body: creditNoteRecord, headers: ["Location"] },
      },
    },
    async (c, { author, params: { orgID }, readBody, transact }) => {
      // The invoices of an organization outlive it.
      if (!(await hasInvoices(deps.db, orgID))) await requireOrganization(deps.db, orgID);
      const { invoice_id: invoiceId, reason, lines: given } = await readBody();
      const lines = given.map(({ description, amount_cents: cents }) => ({
        description,
        amountCents: BigInt(cents),
      }));
      return transact(
        (tx, { id }) =>
          issueCreditNote(tx, author, { id, orgId: orgID, invoiceId, reason, lines, issuedAt: deps.now() }),
        (note) =>
          c.json(presentCreditNote(note, lines), 201, {
            Location: `${COLLECTION.replace("{orgID}", orgID)}/${note.id}`,
          }),
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
      operationId: "listCreditNotes",
      tag,
      summary: "List the credit notes",
      access: "billing:read",
      query: pageQuery,
      responses: { 200: { description: "A page, the newest first.", body: creditNotePage } },
    },
    async (c, { orgId, query }) => {
      const rows = await listCreditNotes(deps.db, orgId, query);
      return c.json(toPage(rows, query.limit, presentCreditNoteSummary), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: `${COLLECTION}/{creditNoteID}`,
      operationId: "getCreditNote",
      tag,
      summary: "Get a credit note",
      access: "billing:read",
      responses: { 200: { description: "The credit note with its lines.", body: creditNoteRecord } },
    },
    async (c, { orgId, params }) => {
      const note = await findCreditNote(deps.db, orgId, params.creditNoteID);
      if (note === undefined) throw notFound("credit note");
      return c.json(presentCreditNote(note, await readCreditNoteLines(deps.db, note)), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/admin/billing/credit-notes",
      operationId: "listAllCreditNotes",
      tag: ADMIN_TAG,
      summary: "List all credit notes",
      access: "platform-admin",
      query: pageQuery,
      responses: { 200: { description: "A page, the newest first.", body: creditNotePage } },
    },
    async (c, { query }) => {
      const rows = await listAllCreditNotes(deps.db, query);
      return c.json(toPage(rows, query.limit, presentCreditNoteSummary), 200);
    },
  );
}

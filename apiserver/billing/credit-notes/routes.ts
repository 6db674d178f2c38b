import type { Context } from "hono";
import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { MAX_READ_BYTES } from "../../http/contract/byte-budget.ts";
import { acceptedType, attachment, JSON_TYPE } from "../../http/contract/download.ts";
import { pageQuery, toPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import type { HttpEnv } from "../../http/env.ts";
import { notFound } from "../../http/errors.ts";
import { requireOrganization } from "../../organizations/index.ts";
import { PDF } from "../invoices/pdf/content.ts";
import { findInvoice, hasInvoices } from "../invoices/store.ts";
import { XML } from "../invoices/xml.ts";
import { issueCreditNote } from "./issue.ts";
import {
  presentCreditNote,
  presentCreditNoteSummary,
  toPdfOfCreditNote,
  toXmlOfCreditNote,
} from "./present.ts";
import { createCreditNoteBody, creditNotePage, creditNoteRecord, MAX_XML_LENGTH } from "./schema.ts";
import {
  type CreditNote,
  type CreditNoteLine,
  findCreditNote,
  listAllCreditNotes,
  listCreditNotes,
  readCreditNoteLines,
} from "./store.ts";

const tag = "Billing";
const ADMIN_TAG = "Platform administration";
const COLLECTION = "/api/v1/organizations/{orgID}/billing/credit-notes";
const FORMS = [JSON_TYPE, XML, PDF] as const;

/** Operations on credit notes. */
export function addCreditNoteRoutes(router: Router<Deps>): void {
  addCreate(router);
  addReads(router);
}

function addReads(router: Router<Deps>): void {
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
    async (c, { deps, orgId, query }) => {
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
      description:
        "With `Accept: application/xml`, the electronic credit note (EN 16931), which refers to its invoice; with `Accept: application/pdf`, a document with it inside (Factur-X).",
      access: "billing:read",
      responses: {
        200: {
          description: "The credit note with its lines.",
          body: creditNoteRecord,
          files: [
            {
              mediaType: XML,
              description: "The credit note of EN 16931, in the syntax UN/CEFACT Cross Industry Invoice.",
              maxLength: MAX_XML_LENGTH,
              example: '<?xml version="1.0" encoding="UTF-8"?>',
            },
            {
              mediaType: PDF,
              isBinary: true,
              description: "The credit note for people, with the XML inside (Factur-X, PDF/A-3a).",
              maxLength: MAX_READ_BYTES,
            },
          ],
          headers: ["Content-Disposition"],
        },
      },
    },
    async (c, { deps, orgId, params, acquireComputation }) => {
      const note = await findCreditNote(deps.db, orgId, params.creditNoteID);
      if (note === undefined) throw notFound("credit note");
      const form = acceptedType(c, FORMS);
      const lines = await readCreditNoteLines(deps.db, note);
      if (form === JSON_TYPE) return c.json(presentCreditNote(note, lines), 200);
      if (form === PDF) await acquireComputation();
      return (await respondDocument(c, deps, { form, note, lines })) as never;
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
    async (c, { deps, query }) => {
      const rows = await listAllCreditNotes(deps.db, query);
      return c.json(toPage(rows, query.limit, presentCreditNoteSummary), 200);
    },
  );
}

function addCreate(router: Router<Deps>): void {
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
      outlivesOrganization: true,
      body: createCreditNoteBody,
      responses: {
        201: { description: "Issued.", body: creditNoteRecord, headers: ["Location"] },
      },
    },
    async (c, { deps, author, params: { orgID }, readBody, transact }) => {
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

async function respondDocument(
  c: Context<HttpEnv>,
  { db }: Deps,
  { form, ...given }: { form: typeof XML | typeof PDF; note: CreditNote; lines: readonly CreditNoteLine[] },
): Promise<Response> {
  const { note } = given;
  const invoice = await findInvoice(db, note.orgId, note.invoiceId);
  if (invoice === undefined) throw new Error(`the invoice of credit note ${note.id} is not there`);
  const whole = { ...given, invoice };
  const suffix = form === PDF ? "credit-note.pdf" : "credit-note.xml";
  const headers = { "Content-Type": form, "Content-Disposition": attachment(note.number, suffix) };
  return c.body(form === PDF ? await toPdfOfCreditNote(whole) : toXmlOfCreditNote(whole), 200, headers);
}

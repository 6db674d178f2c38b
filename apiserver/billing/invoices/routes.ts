import type { Context } from "hono";
import { recordAudit } from "../../audit/index.ts";
import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { acceptedType, attachment, JSON_TYPE } from "../../http/contract/download.ts";
import { type PageRequest, pageQuery, toPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import type { HttpEnv } from "../../http/env.ts";
import { ApiError, notFound } from "../../http/errors.ts";
import { CSV } from "../csv.ts";
import { monthBefore, monthOf, periodOf } from "../month.ts";
import { dryRunClose } from "./close.ts";
import { listWaiting, requestClose } from "./close-store.ts";
import { FOCUS_CSV, toFocusCsv } from "./focus.ts";
import { readInvoiceCharges } from "./focus-store.ts";
import type { InvoiceWithLines } from "./pdf/content.ts";
import { PDF } from "./pdf/write.ts";
import {
  presentInvoice,
  presentInvoiceSummary,
  presentOutcome,
  presentWaiting,
  toInvoiceCsv,
} from "./present.ts";
import {
  closeQuery,
  closeRecord,
  dryCloseRecord,
  focusForm,
  invoicePage,
  invoiceRecord,
  waitingInvoicePage,
} from "./schema.ts";
import {
  findAnyInvoice,
  findInvoice,
  findInvoiceBefore,
  type Invoice,
  listAllInvoices,
  listInvoices,
  readCredited,
  readDailyCosts,
  readInvoiceLines,
} from "./store.ts";
import { toInvoiceXml, XML } from "./xml.ts";

const tag = "Billing";
const ADMIN_TAG = "Platform administration";
const COLLECTION = "/api/v1/organizations/{orgID}/billing/invoices";
const ADMIN_COLLECTION = "/api/v1/admin/billing/invoices";

const readResponses = {
  200: {
    description: "The invoice with its lines.",
    body: invoiceRecord,
    files: [
      {
        mediaType: CSV,
        description: "One row for each line.",
        maxLength: 268_435_456,
        example: "invoice_number,month,adjustment\r\n",
      },
      focusForm,
      {
        mediaType: XML,
        description: "The invoice of EN 16931, in the syntax UN/CEFACT Cross Industry Invoice.",
        maxLength: 268_435_456,
        example: '<?xml version="1.0" encoding="UTF-8"?>',
      },
      {
        mediaType: PDF,
        isBinary: true,
        description: "The invoice for people, with the XML inside (Factur-X, PDF/A-3b).",
        maxLength: 268_435_456,
      },
    ],
    headers: ["Content-Disposition"],
  },
} as const;

const FORMS_NOTE =
  "With `Accept: text/csv`, its lines as a file; with `Accept: text/csv;profile=focus-1.0`, its charges and those of its " +
  "credit notes in the columns of FOCUS 1.0; with `Accept: application/xml`, the electronic invoice (EN 16931); " +
  "with `Accept: application/pdf`, a document with the electronic invoice inside (Factur-X).";

/** Operations on invoices. */
export function addInvoiceRoutes(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listInvoices",
      tag,
      summary: "List the invoices",
      access: "billing:read",
      query: pageQuery,
      responses: { 200: { description: "A page, the newest first.", body: invoicePage } },
    },
    async (c, { orgId, query }) => {
      const rows = await listInvoices(deps.db, orgId, query);
      return c.json(await presentPage(deps, rows, query), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: `${COLLECTION}/{invoiceID}`,
      operationId: "getInvoice",
      tag,
      summary: "Get an invoice",
      description: FORMS_NOTE,
      access: "billing:read",
      responses: readResponses,
      errors: ["not_acceptable"],
    },
    async (c, { orgId, params }) => {
      const invoice = await findInvoice(deps.db, orgId, params.invoiceID);
      return respond(c, deps, invoice);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: ADMIN_COLLECTION,
      operationId: "listAllInvoices",
      tag: ADMIN_TAG,
      summary: "List all invoices",
      access: "platform-admin",
      query: pageQuery,
      responses: { 200: { description: "A page, the newest first.", body: invoicePage } },
    },
    async (c, { query }) => {
      const rows = await listAllInvoices(deps.db, query);
      return c.json(await presentPage(deps, rows, query), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: `${ADMIN_COLLECTION}/{invoiceID}`,
      operationId: "getAnyInvoice",
      tag: ADMIN_TAG,
      summary: "Get an invoice of any organization",
      description: FORMS_NOTE,
      access: "platform-admin",
      responses: readResponses,
      errors: ["not_acceptable"],
    },
    async (c, { params }) => respond(c, deps, await findAnyInvoice(deps.db, params.invoiceID)),
  );
}

async function presentPage({ db }: Deps, rows: readonly Invoice[], { limit }: PageRequest) {
  const creditedOn = await readCredited(db, rows);
  return toPage(rows, limit, (invoice) => presentInvoiceSummary(invoice, creditedOn(invoice)));
}

async function respond(c: Context<HttpEnv>, deps: Deps, invoice: Invoice | undefined) {
  if (invoice === undefined) throw notFound("invoice");
  const lines = await readInvoiceLines(deps.db, invoice);
  const form = acceptedType(c, [JSON_TYPE, CSV, FOCUS_CSV, XML, PDF]);
  if (form === JSON_TYPE) {
    const creditedOn = await readCredited(deps.db, [invoice]);
    return c.json(presentInvoice(invoice, lines, creditedOn(invoice)), 200);
  }
  const { suffix, content } = await writeFile(deps, form, { invoice, lines });
  const headers = { "Content-Type": form, "Content-Disposition": attachment(invoice.number, suffix) };
  // The file is another form of the same response, which the type of a JSON response cannot express.
  return c.body(content, 200, headers) as never;
}

type InvoiceFile = typeof CSV | typeof FOCUS_CSV | typeof XML | typeof PDF;

async function writeFile(deps: Deps, form: InvoiceFile, one: InvoiceWithLines) {
  switch (form) {
    case FOCUS_CSV:
      return { suffix: "focus.csv", content: toFocusCsv(await readInvoiceCharges(deps.db, one)) };
    case CSV:
      return { suffix: "lines.csv", content: toInvoiceCsv(one.invoice, one.lines) };
    case XML:
      return { suffix: "invoice.xml", content: toInvoiceXml(one.invoice, one.lines) };
    case PDF:
      return { suffix: "invoice.pdf", content: await readPdf(deps, one) };
  }
}

async function readPdf({ db }: Deps, one: InvoiceWithLines): Promise<Uint8Array<ArrayBuffer>> {
  const before = await findInvoiceBefore(db, one.invoice);
  const previous = before && { invoice: before, lines: await readInvoiceLines(db, before) };
  const days = await readDailyCosts(db, one.invoice);
  // Loaded when it is first used: the library and its fonts are not needed at rest.
  const { toInvoicePdf } = await import("./pdf/write.ts");
  return Uint8Array.from(await toInvoicePdf(one, previous, days));
}

/** What the platform's staff can do with the close of a month. */
export function addCloseRoutes(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "post",
      path: "/api/v1/admin/billing/close",
      operationId: "closeMonth",
      tag: ADMIN_TAG,
      summary: "Close a month",
      description:
        "Issues the invoices of a month that has ended, one by one in the background. Safe to repeat: an organization that has an invoice of the month gets no other one.",
      access: "platform-admin",
      query: closeQuery,
      responses: {
        200: {
          description: "What a close would come to: a page of organizations, in the order of their ids.",
          body: dryCloseRecord,
        },
        202: { description: "The close begins within a minute.", body: closeRecord, headers: ["Location"] },
      },
      errors: ["conflict"],
    },
    async (c, { author, query, transact, runOnce }) => {
      const now = deps.now();
      const month = query.month ?? monthBefore(monthOf(now));
      if (month.end > now) throw new ApiError("conflict", "The month has not ended.");
      if (query.dry_run)
        return runOnce({}, async () => {
          const page = await dryRunClose(deps, month, query, presentOutcome);
          return c.json({ month: month.name, ...page }, 200);
        });
      return transact(
        async (tx) => {
          await requestClose(tx, periodOf(month), now);
          await recordAudit(tx, author, {
            action: "month.close",
            orgId: null,
            target: { kind: "month", id: month.name },
            result: "done",
          });
        },
        () =>
          c.json({ month: month.name, requested_at: now.toISOString() }, 202, {
            Location: "/api/v1/admin/billing/invoices",
          }),
      );
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/admin/billing/waiting-invoices",
      operationId: "listWaitingInvoices",
      tag: ADMIN_TAG,
      summary: "List what waits to be invoiced, and why",
      access: "platform-admin",
      query: pageQuery,
      responses: { 200: { description: "A page, the oldest first.", body: waitingInvoicePage } },
    },
    async (c, { query }) => {
      const rows = await listWaiting(deps.db, query);
      return c.json(toPage(rows, query.limit, presentWaiting), 200);
    },
  );
}

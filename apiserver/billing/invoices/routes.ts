import type { Context } from "hono";
import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { attachment } from "../../http/contract/attachment.ts";
import { pageQuery, toPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import type { HttpEnv } from "../../http/env.ts";
import { notFound } from "../../http/errors.ts";
import { CSV, prefersCsv } from "../csv.ts";
import { presentInvoice, presentInvoiceSummary, toInvoiceCsv } from "./present.ts";
import { invoicePage, invoiceRecord } from "./schema.ts";
import {
  findAnyInvoice,
  findInvoice,
  type Invoice,
  listAllInvoices,
  listInvoices,
  readInvoiceLines,
} from "./store.ts";
import { prefersXml, toInvoiceXml, XML } from "./xml.ts";

const tag = "Billing";
const ADMIN_TAG = "Platform administration";
const COLLECTION = "/api/v1/organizations/{orgID}/billing/invoices";
const ADMIN_COLLECTION = "/api/v1/admin/billing/invoices";

const readResponses = {
  200: {
    description: "The invoice with its lines.",
    body: invoiceRecord,
    texts: [
      {
        mediaType: CSV,
        description: "One row for each line.",
        maxLength: 268_435_456,
        example: "invoice_number,month,adjustment\r\n",
      },
      {
        mediaType: XML,
        description: "The invoice of EN 16931, in the syntax UN/CEFACT Cross Industry Invoice.",
        maxLength: 268_435_456,
        example: '<?xml version="1.0" encoding="UTF-8"?>',
      },
    ],
    headers: ["Content-Disposition"],
  },
} as const;

const FORMS_NOTE =
  "With `Accept: text/csv`, its lines as a file; with `Accept: application/xml`, the electronic invoice (EN 16931).";

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
      return c.json(toPage(rows, query.limit, presentInvoiceSummary), 200);
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
      return c.json(toPage(rows, query.limit, presentInvoiceSummary), 200);
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
    },
    async (c, { params }) => respond(c, deps, await findAnyInvoice(deps.db, params.invoiceID)),
  );
}

async function respond(c: Context<HttpEnv>, deps: Deps, invoice: Invoice | undefined) {
  if (invoice === undefined) throw notFound("invoice");
  const lines = await readInvoiceLines(deps.db, invoice);
  const accept = c.req.header("accept");
  if (prefersXml(accept)) {
    const headers = { "Content-Type": XML, "Content-Disposition": attachment(invoice.number, "invoice.xml") };
    return c.body(toInvoiceXml(invoice, lines), 200, headers) as never;
  }
  if (prefersCsv(accept)) {
    const headers = { "Content-Type": CSV, "Content-Disposition": attachment(invoice.number, "lines.csv") };
    // The file is another form of the same response, which the type of a JSON response cannot express.
    return c.body(toInvoiceCsv(invoice, lines), 200, headers) as never;
  }
  return c.json(presentInvoice(invoice, lines), 200);
}

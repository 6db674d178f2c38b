import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import {
  cursorToPosition,
  cutPage,
  type PageRequest,
  pageQuery,
  positionPageQuery,
  positionToCursor,
  toPage,
} from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import { notFound } from "../../http/errors.ts";
import { listInvoiceLines } from "./line-store.ts";
import { presentInvoiceLine, presentInvoiceSummary } from "./present.ts";
import { FORMS_NOTE, INVOICE_RESPONSES, respondInvoice } from "./respond.ts";
import { invoiceLinePage, invoicePage, MAX_LINES_TOTAL } from "./schema.ts";
import {
  findAnyInvoice,
  findInvoice,
  type Invoice,
  listAllInvoices,
  listInvoices,
  readCredited,
} from "./store.ts";

const tag = "Billing";
const ADMIN_TAG = "Platform administration";
const COLLECTION = "/api/v1/organizations/{orgID}/billing/invoices";
const ADMIN_COLLECTION = "/api/v1/admin/billing/invoices";

/** Operations on invoices. */
export function addInvoiceRoutes(router: Router<Deps>): void {
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
    async (c, { deps, orgId, query }) => {
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
      responses: INVOICE_RESPONSES,
      errors: ["not_acceptable"],
    },
    async (c, { deps, orgId, params, acquireComputation }) => {
      const invoice = await findInvoice(deps.db, orgId, params.invoiceID);
      return respondInvoice(c, deps, { invoice, acquireComputation });
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
    async (c, { deps, query }) => {
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
      responses: INVOICE_RESPONSES,
      errors: ["not_acceptable"],
    },
    async (c, { deps, params, acquireComputation }) => {
      const invoice = await findAnyInvoice(deps.db, params.invoiceID);
      return respondInvoice(c, deps, { invoice, acquireComputation });
    },
  );
  addLineRoutes(router);
}

function addLineRoutes(router: Router<Deps>): void {
  const common = {
    method: "get",
    description: "Also of an invoice that has too many lines for one response.",
    query: positionPageQuery,
    responses: { 200: { description: "A page, in the order of the invoice.", body: invoiceLinePage } },
  } as const;

  addRoute(
    router,
    {
      ...common,
      path: `${COLLECTION}/{invoiceID}/lines`,
      operationId: "listInvoiceLines",
      tag,
      summary: "List the lines of an invoice",
      access: "billing:read",
    },
    async (c, { deps, orgId, params, query }) => {
      const invoice = await findInvoice(deps.db, orgId, params.invoiceID);
      return c.json(await readLinePage(deps, invoice, query), 200);
    },
  );

  addRoute(
    router,
    {
      ...common,
      path: `${ADMIN_COLLECTION}/{invoiceID}/lines`,
      operationId: "listAnyInvoiceLines",
      tag: ADMIN_TAG,
      summary: "List the lines of an invoice of any organization",
      access: "platform-admin",
    },
    async (c, { deps, params, query }) =>
      c.json(await readLinePage(deps, await findAnyInvoice(deps.db, params.invoiceID), query), 200),
  );
}

async function readLinePage({ db }: Deps, invoice: Invoice | undefined, { cursor, limit }: PageRequest) {
  if (invoice === undefined) throw notFound("invoice");
  const after = Math.min(cursorToPosition(cursor ?? "") ?? 0, MAX_LINES_TOTAL);
  const rows = await listInvoiceLines(db, invoice, { after, limit: limit + 1 });
  const shown = rows.slice(0, limit);
  const cursorOf = ({ position }: { position: number }) => positionToCursor(position);
  const last = shown.at(-1);
  const next = rows.length > limit && last !== undefined ? cursorOf(last) : null;
  return cutPage(shown, { present: presentInvoiceLine, cursorOf, next });
}

async function presentPage({ db }: Deps, rows: readonly Invoice[], { limit }: PageRequest) {
  const creditedOn = await readCredited(db, rows);
  return toPage(rows, limit, (invoice) => presentInvoiceSummary(invoice, creditedOn(invoice)));
}

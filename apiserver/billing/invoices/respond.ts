import type { Context } from "hono";
import type { Deps } from "../../deps.ts";
import { MAX_READ_BYTES } from "../../http/contract/byte-budget.ts";
import { acceptedType, attachment, JSON_TYPE } from "../../http/contract/download.ts";
import { streamFile } from "../../http/contract/stream-file.ts";
import type { HttpEnv } from "../../http/env.ts";
import { notFound } from "../../http/errors.ts";
import { CSV } from "../csv.ts";
import { FOCUS_CSV, toFocusTexts } from "./focus.ts";
import { readInvoiceCharges } from "./focus-store.ts";
import { countInvoiceLines, readAmountsByType, readInvoiceLines, readLinePages } from "./line-store.ts";
import { PDF } from "./pdf/content.ts";
import { presentInvoice, toInvoiceCsv } from "./present.ts";
import { focusForm, invoiceRecord, MAX_LINES } from "./schema.ts";
import { findInvoiceBefore, type Invoice, readCredited, readDailyCosts } from "./store.ts";
import { toXmlTexts, XML } from "./xml.ts";

const FORMS = [JSON_TYPE, CSV, FOCUS_CSV, XML, PDF] as const;

/** The forms of an invoice. */
export const INVOICE_RESPONSES = {
  200: {
    description: "The invoice.",
    body: invoiceRecord,
    files: [
      {
        mediaType: CSV,
        isStreamed: true,
        description: "One row for each line.",
        example: "invoice_number,month,adjustment\r\n",
      },
      { ...focusForm, maxLength: undefined, isStreamed: true },
      {
        mediaType: XML,
        isStreamed: true,
        description: "The invoice of EN 16931, in the syntax UN/CEFACT Cross Industry Invoice.",
        example: '<?xml version="1.0" encoding="UTF-8"?>',
      },
      {
        mediaType: PDF,
        isBinary: true,
        description: "The invoice for people, with the XML inside (Factur-X, PDF/A-3a).",
        maxLength: MAX_READ_BYTES,
      },
    ],
    headers: ["Content-Disposition"],
  },
} as const;

/** What the operations with these responses say of them. */
export const FORMS_NOTE =
  "With `Accept: text/csv`, its lines as a file; with `Accept: text/csv;profile=focus-1.0`, its charges and those of its " +
  "credit notes in the columns of FOCUS 1.0; with `Accept: application/xml`, the electronic invoice (EN 16931); " +
  "with `Accept: application/pdf`, a document with the electronic invoice inside (Factur-X). " +
  `Of an invoice with more than ${MAX_LINES} lines the JSON has no \`lines\`, which \`GET .../lines\` lists, and there is no PDF ` +
  "(406); the other files have all lines.";

/** As JSON, so many lines take some 10 ms. */
const QUICK_LINES = 1000;

/** Responds with an invoice in the form that the client accepts. Throws 404 without one, 406, 429. */
export async function respondInvoice(
  c: Context<HttpEnv>,
  { db }: Deps,
  { invoice, acquireComputation }: { invoice: Invoice | undefined; acquireComputation: () => Promise<void> },
) {
  if (invoice === undefined) throw notFound("invoice");
  const total = await countInvoiceLines(db, invoice);
  const isLarge = total > MAX_LINES;
  const why = `The invoice has ${total} lines, and a PDF has at most ${MAX_LINES}; the other forms have all of them.`;
  const form = acceptedType(c, FORMS, isLarge ? { form: PDF, why } : undefined);
  if (form === PDF || (form === JSON_TYPE && !isLarge && total > QUICK_LINES)) await acquireComputation();
  if (form === JSON_TYPE) {
    const creditedOn = await readCredited(db, [invoice]);
    const lines = isLarge ? undefined : await readInvoiceLines(db, invoice);
    return c.json(presentInvoice(invoice, { lines, total }, creditedOn(invoice)), 200);
  }
  const headers = (suffix: string) => ({
    "Content-Type": form,
    "Content-Disposition": attachment(invoice.number, suffix),
  });
  // A file is another form of the same response, which the type of a JSON response cannot express.
  if (form === PDF) return c.body(await readPdf(db, invoice), 200, headers("invoice.pdf")) as never;
  const { suffix, texts } = readTexts(db, form, invoice);
  return (await streamFile(c, texts, headers(suffix))) as never;
}

function readTexts(db: Deps["db"], form: typeof CSV | typeof FOCUS_CSV | typeof XML, invoice: Invoice) {
  const pages = readLinePages(db, invoice, { withLabels: form === FOCUS_CSV });
  switch (form) {
    case FOCUS_CSV:
      return { suffix: "focus.csv", texts: toFocusTexts(readInvoiceCharges(db, invoice, pages)) };
    case CSV:
      return { suffix: "lines.csv", texts: toInvoiceCsv(invoice, pages) };
    case XML:
      return { suffix: "invoice.xml", texts: toXmlTexts(invoice, pages) };
  }
}

async function readPdf(db: Deps["db"], invoice: Invoice): Promise<Uint8Array<ArrayBuffer>> {
  const before = await findInvoiceBefore(db, invoice);
  const previous = before && { invoice: before, lines: await readAmountsByType(db, before) };
  const days = await readDailyCosts(db, invoice);
  // Loaded when it is first used: the library and its fonts are not needed at rest.
  const { toInvoicePdf } = await import("./pdf/write.ts");
  const lines = await readInvoiceLines(db, invoice);
  return Uint8Array.from(await toInvoicePdf({ invoice, lines }, previous, days));
}

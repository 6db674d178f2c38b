import { and, asc, eq, gte, lt, type SQL } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { findOrganization } from "../../organizations/index.ts";
import { type Month, periodOf } from "../month.ts";
import { readRatingSource } from "../rating/read.ts";
import { runInTurns } from "../turns.ts";
import { isClosed } from "./close-store.ts";
import { composeLines, type InvoiceLine } from "./compose.ts";
import {
  type Billed,
  type CreditNoteOfPeriod,
  type FocusRow,
  toCreditNoteRows,
  toInvoiceLineRows,
  toInvoiceRows,
  toInvoiceTaxRows,
  toLineRows,
} from "./focus.ts";
import { countInvoiceLines, readInvoiceLines } from "./line-store.ts";
import { MAX_LINES } from "./schema.ts";
import { addLabels, findInvoiceOfPeriod, type Invoice } from "./store.ts";
import { creditNoteLines, creditNotes, invoices } from "./table.ts";

/** Who provides what is used where no supplier is configured. */
const PLATFORM = "Marina";

/** The charges of an invoice, whose lines are read page by page, and those of every credit note on it. */
export async function* readInvoiceCharges(
  db: Queryable,
  invoice: Invoice,
  pages: AsyncIterable<readonly InvoiceLine[]>,
): AsyncGenerator<FocusRow[]> {
  for await (const lines of pages) yield toInvoiceLineRows(invoice, lines);
  yield toInvoiceTaxRows(invoice);
  const notes = await readCreditNotes(db, invoice.orgId, eq(creditNotes.invoiceId, invoice.id));
  for (const note of notes) yield toCreditNoteRows(note);
}

/**
 * What an organization is billed for a month: the charges of the invoice of that month, or of its lines where none was
 * issued, and those of the credit notes that were issued in it. Or the sentence that says why they are not there.
 */
export function readMonthCharges(
  { db, config: { invoicing } }: Pick<Deps, "db" | "config">,
  orgId: string,
  month: Month,
): Promise<{ charges: Iterable<FocusRow> } | { why: string }> {
  return db.transaction(
    async (tx) => {
      const invoice = await findInvoiceOfPeriod(tx, orgId, periodOf(month));
      if (invoice === undefined && !(await isClosed(tx, periodOf(month))))
        return { why: `${month.name} is not closed.` };
      if (invoice !== undefined && (await countInvoiceLines(tx, invoice)) > MAX_LINES) {
        const path = `/api/v1/organizations/${orgId}/billing/invoices/${invoice.id}`;
        return { why: `${month.name} has more than ${MAX_LINES} lines; GET ${path} has them in this form.` };
      }
      const charges =
        invoice === undefined
          ? await readUninvoiced(tx, { orgId, month, providerName: invoicing?.supplier.name ?? PLATFORM })
          : toInvoiceRows({ invoice, lines: await readInvoiceLines(tx, invoice, { withLabels: true }) });
      const isOfMonth = and(gte(creditNotes.issuedAt, month.start), lt(creditNotes.issuedAt, month.end));
      const notes = await readCreditNotes(tx, orgId, isOfMonth);
      return { charges: concat(charges, notes.flatMap(toCreditNoteRows)) };
    },
    { isolationLevel: "repeatable read", accessMode: "read only" },
  );
}

function* concat(...parts: Iterable<FocusRow>[]): Generator<FocusRow, void> {
  for (const rows of parts) yield* rows;
}

function* toRowsOneByOne(billed: Billed, lines: readonly InvoiceLine[]): Generator<FocusRow, void> {
  for (const line of lines) yield* toLineRows(billed, [line]);
}

async function readUninvoiced(
  tx: Queryable,
  { orgId, month, providerName }: { orgId: string; month: Month; providerName: string },
): Promise<Iterable<FocusRow>> {
  const organization = await findOrganization(tx, orgId);
  const own = await runInTurns(composeLines(await readRatingSource(tx, orgId, month), []));
  const lines = await addLabels(tx, orgId, own);
  const accountName = organization?.name ?? null;
  const billed = { orgId, accountName, providerName, billingPeriod: month, documentNumber: null };
  return toRowsOneByOne(billed, lines);
}

/** Credit notes of an organization, the oldest first. */
async function readCreditNotes(
  db: Queryable,
  orgId: string,
  condition: SQL | undefined,
): Promise<CreditNoteOfPeriod[]> {
  const rows = await db
    .select({
      note: creditNotes,
      correctedPeriod: invoices.period,
      description: creditNoteLines.description,
      amountCents: creditNoteLines.amountCents,
    })
    .from(creditNotes)
    .innerJoin(invoices, eq(invoices.id, creditNotes.invoiceId))
    .innerJoin(creditNoteLines, eq(creditNoteLines.creditNoteId, creditNotes.id))
    .where(and(eq(creditNotes.orgId, orgId), eq(invoices.orgId, orgId), condition))
    .orderBy(asc(creditNotes.id), asc(creditNoteLines.position));
  const notes = Map.groupBy(rows, ({ note }) => note.id);
  return [...notes.values()].flatMap((lines) =>
    lines.slice(0, 1).map(({ note, correctedPeriod }) => ({ ...note, correctedPeriod, lines })),
  );
}

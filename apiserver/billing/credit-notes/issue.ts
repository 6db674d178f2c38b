import { recordAudit } from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import type { Author } from "../../http/authentication/principal.ts";
import { invalidField } from "../../http/errors.ts";
import { findInvoice, lockInvoices, readCredited, takeSequence } from "../invoices/store.ts";
import { vatCents } from "../invoices/vat.ts";
import { toJsonCents } from "../money.ts";
import { sumCents } from "../rating/lines.ts";
import { type CreditNote, type CreditNoteLine, insertCreditNote, insertCreditNoteLines } from "./store.ts";

const SEQUENCE_DIGITS = 6;

export interface NewCreditNote {
  id: string;
  orgId: string;
  invoiceId: string;
  reason: string;
  lines: readonly CreditNoteLine[];
  issuedAt: Date;
}

/**
 * Issues a credit note on an invoice, with its VAT and parties. Throws 422 for an invoice that the organization does
 * not have and for more than the invoice has left. The number is taken last, because it keeps other ones waiting until
 * the commit.
 */
export async function issueCreditNote(
  tx: Queryable,
  author: Author,
  { lines, ...note }: NewCreditNote,
): Promise<CreditNote> {
  const { id, orgId, invoiceId, issuedAt } = note;
  await lockInvoices(tx, orgId);
  const invoice = await findInvoice(tx, orgId, invoiceId);
  if (invoice === undefined)
    throw invalidField("invoice_id", "not_found", "is not an invoice of the organization");
  const credited = (await readCredited(tx, [invoice]))(invoice);
  const amountCents = sumCents(lines);
  const leftCents = invoice.amountCents - credited.amountCents;
  if (amountCents > leftCents)
    throw invalidField(
      "lines",
      "out_of_range",
      `must sum to at most ${leftCents} cents, which is what the invoice has left`,
    );
  const { vatCase, vatBasisPoints, supplier, buyer } = invoice;
  // VAT of all credits so far, less the VAT credited before: the last note credits the invoice's VAT to the cent.
  const vatInAll = vatCents(credited.amountCents + amountCents, {
    case: vatCase,
    basisPoints: vatBasisPoints,
  });
  const year = issuedAt.getUTCFullYear();
  const sequence = await takeSequence(tx, year, "creditNotes");
  const [prefix] = invoice.number.split("-");
  const issued: CreditNote = {
    ...note,
    // No number of an invoice has this form: a prefix holds no hyphen.
    number: `${prefix}-CN-${year}-${String(sequence).padStart(SEQUENCE_DIGITS, "0")}`,
    year,
    sequence,
    amountCents,
    vatCase,
    vatBasisPoints,
    vatCents: vatInAll - credited.vatCents,
    supplier,
    buyer,
  };
  await insertCreditNote(tx, issued);
  await insertCreditNoteLines(tx, id, lines);
  await recordAudit(tx, author, {
    action: "credit_note.issue",
    orgId,
    target: { kind: "credit_note", id },
    after: {
      number: issued.number,
      invoice_number: invoice.number,
      amount_cents: toJsonCents(amountCents),
      reason: note.reason,
    },
    result: "done",
  });
  return issued;
}

import type { z } from "@hono/zod-openapi";
import { composeHead, type InvoiceContent, toAmount } from "../invoices/pdf/content.ts";
import { presentParty, presentVat } from "../invoices/present.ts";
import type { Invoice } from "../invoices/store.ts";
import { exemptionReasonOf } from "../invoices/vat.ts";
import { toCreditNoteXml, type XmlDocument } from "../invoices/xml.ts";
import { toJsonCents } from "../money.ts";
import { monthOfPeriod } from "../month.ts";
import type { creditNotePage, creditNoteRecord } from "./schema.ts";
import type { CreditNote, CreditNoteLine } from "./store.ts";

/** The wire form of a credit note in a list. */
export function presentCreditNoteSummary(note: CreditNote): z.output<typeof creditNotePage>["items"][number] {
  return {
    id: note.id,
    org_id: note.orgId,
    invoice_id: note.invoiceId,
    number: note.number,
    issued_at: note.issuedAt.toISOString(),
    reason: note.reason,
    currency: "EUR",
    ...presentVat(note),
  };
}

/** The wire form of a whole credit note. */
export function presentCreditNote(
  note: CreditNote,
  lines: readonly CreditNoteLine[],
): z.output<typeof creditNoteRecord> {
  return {
    ...presentCreditNoteSummary(note),
    supplier: presentParty(note.supplier),
    buyer: presentParty(note.buyer),
    lines: lines.map(({ description, amountCents }) => ({
      description,
      amount_cents: toJsonCents(amountCents),
    })),
  };
}

/** An issued credit note with its lines, and its invoice. */
export interface WholeCreditNote {
  note: CreditNote;
  lines: readonly CreditNoteLine[];
  invoice: Pick<Invoice, "number" | "issuedAt" | "period">;
}

/** How much of a text a row of the document has room for, in the widest letters but few. */
const ROW_LENGTH = 60;

/** A credit note in the syntax Cross Industry Invoice of EN 16931, with a reference to its invoice. */
export function toXmlOfCreditNote({ note, lines, invoice }: WholeCreditNote): string {
  const { start, end } = monthOfPeriod(invoice.period);
  const days = { first: start, last: new Date(end.getTime() - 1) };
  return toCreditNoteXml(
    { ...toXmlDocument({ note, invoice }), credit: { invoice, reason: note.reason } },
    lines.map(({ description, amountCents }) => ({ name: description, amountCents, days })),
  );
}

/** A credit note as a Factur-X document, with that XML inside. Equal input gives equal bytes. */
export async function toPdfOfCreditNote(whole: WholeCreditNote): Promise<Uint8Array<ArrayBuffer>> {
  // Loaded when it is first used: the library and its fonts are not needed at rest.
  const { writeFacturX } = await import("../invoices/pdf/write.ts");
  const xml = ReadableStream.from([toXmlOfCreditNote(whole)]);
  const document = await writeFacturX(compose(whole), { issuedAt: whole.note.issuedAt, xml });
  return Uint8Array.from(document);
}

function compose({ note, lines, invoice }: WholeCreditNote): InvoiceContent {
  const head = composeHead(toXmlDocument({ note, invoice }));
  const reason = exemptionReasonOf(note.vatCase);
  const rows = lines.flatMap(({ description, amountCents }) =>
    splitText(description).map((label, index) => ({
      label,
      unitPrice: "",
      quantity: "",
      amount: index === 0 ? toAmount(amountCents) : "",
    })),
  );
  const [{ amount } = { amount: "" }] = head.sums;
  return {
    ...head,
    title: "Credit note",
    references: [
      `Corrects ${invoice.number} of ${invoice.issuedAt.toISOString().slice(0, 10)}`,
      ...head.references,
    ],
    notes: [...(reason === undefined ? [] : [reason]), note.reason],
    chart: [],
    days: [],
    columns: ["Lines", "", "", "EUR"],
    clusters: [{ name: "Given back", amount, rows }],
  };
}

function toXmlDocument({ note, invoice }: Omit<WholeCreditNote, "lines">): XmlDocument {
  const { number, issuedAt, amountCents, vatCase, vatBasisPoints, vatCents, supplier, buyer } = note;
  const amounts = { amountCents, vatCase, vatBasisPoints, vatCents };
  return { number, issuedAt, period: invoice.period, ...amounts, supplier, buyer };
}

/** At blanks, where there are some. */
function splitText(text: string): string[] {
  return text.match(new RegExp(`.{1,${ROW_LENGTH}}(?=\\s|$)|.{1,${ROW_LENGTH}}`, "gsu")) ?? [text];
}

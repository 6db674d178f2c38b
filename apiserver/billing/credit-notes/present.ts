import type { z } from "@hono/zod-openapi";
import { presentParty, presentVat } from "../invoices/present.ts";
import { toJsonCents } from "../money.ts";
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

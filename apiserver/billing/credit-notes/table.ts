import { sql } from "drizzle-orm";
import { bigint, check, index, integer, pgTable, primaryKey, text, unique, uuid } from "drizzle-orm/pg-core";
import { documentColumns } from "../invoices/document-columns.ts";
import { invoices } from "../invoices/table.ts";

/**
 * Issued credit notes. Append-only; VAT and both parties are those of the invoice. The sequences of a year, which are not those
 * of invoices, have no gap.
 */
export const creditNotes = pgTable(
  "credit_notes",
  {
    ...documentColumns(),
    invoiceId: uuid("invoice_id")
      .notNull()
      .references(() => invoices.id),
    reason: text().notNull(),
  },
  (table) => [
    unique("credit_notes_sequence_key").on(table.year, table.sequence),
    index("credit_notes_invoice_idx").on(table.invoiceId),
    index("credit_notes_org_idx").on(table.orgId, table.id),
    check("credit_notes_amount", sql`${table.amountCents} > 0`),
  ],
);

/** The lines of issued credit notes. Append-only. */
export const creditNoteLines = pgTable(
  "credit_note_lines",
  {
    creditNoteId: uuid("credit_note_id")
      .notNull()
      .references(() => creditNotes.id),
    position: integer().notNull(),
    description: text().notNull(),
    amountCents: bigint("amount_cents", { mode: "bigint" }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.creditNoteId, table.position] }),
    check("credit_note_lines_amount", sql`${table.amountCents} > 0`),
  ],
);

/** The last position that each year's sequence of credit notes has given out. */
export const creditNoteSequences = pgTable("credit_note_sequences", {
  year: integer().primaryKey(),
  last: integer().notNull(),
});

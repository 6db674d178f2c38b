import { sql } from "drizzle-orm";
import {
  bigint,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  unique,
  uuid,
} from "drizzle-orm/pg-core";
import type { Supplier } from "../../invoicing.ts";
import { type Buyer, invoices } from "../invoices/table.ts";
import type { VatCase } from "../invoices/vat.ts";

/**
 * Issued credit notes. Append-only; VAT and both parties are those of the invoice. The sequences of a year, which are not those
 * of invoices, have no gap.
 */
export const creditNotes = pgTable(
  "credit_notes",
  {
    id: uuid().primaryKey(),
    orgId: uuid("org_id").notNull(),
    invoiceId: uuid("invoice_id")
      .notNull()
      .references(() => invoices.id),
    number: text().notNull().unique(),
    /** The year of issue in UTC, and the position in it. */
    year: integer().notNull(),
    sequence: integer().notNull(),
    issuedAt: timestamp("issued_at", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
    reason: text().notNull(),
    /** The sum of the lines, net: what the buyer gets back. */
    amountCents: bigint("amount_cents", { mode: "bigint" }).notNull(),
    vatCase: text("vat_case").$type<VatCase>().notNull(),
    /** Hundredths of a percent. */
    vatBasisPoints: integer("vat_basis_points").notNull(),
    vatCents: bigint("vat_cents", { mode: "bigint" }).notNull(),
    supplier: jsonb().$type<Supplier>().notNull(),
    buyer: jsonb().$type<Buyer>().notNull(),
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

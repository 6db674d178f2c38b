import { sql } from "drizzle-orm";
import {
  boolean,
  check,
  date,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  timestamp,
  unique,
  uuid,
} from "drizzle-orm/pg-core";
import type { Labels } from "../../../shared/crd/labels.ts";
import { centsColumn, eurosColumn } from "../../db/columns.ts";
import type { MeteredType } from "../resource-types.ts";
import type { DailyCost } from "./compose.ts";
import { documentColumns } from "./document-columns.ts";

/**
 * Issued invoices. Append-only, and each holds a copy of everything that it says, so that no later change of a profile, a
 * price or the configuration reaches it. The sequences of a year have no gap.
 */
export const invoices = pgTable(
  "invoices",
  {
    ...documentColumns(),
    /** The first day of the month. */
    period: date({ mode: "string" }).notNull(),
    /** What the days of the month cost, as the lines say: for the chart of the PDF. Null where it was not noted. */
    dailyCosts: jsonb("daily_costs").$type<DailyCost[]>(),
  },
  (table) => [
    unique("invoices_period_key").on(table.orgId, table.period),
    unique("invoices_sequence_key").on(table.year, table.sequence),
    check("invoices_amount", sql`${table.amountCents} >= 0`),
  ],
);

/** The lines of issued invoices. Append-only. */
export const invoiceLines = pgTable(
  "invoice_lines",
  {
    invoiceId: uuid("invoice_id")
      .notNull()
      .references(() => invoices.id),
    position: integer().notNull(),
    /** The first day of the month that was used; before the invoice's own in an adjustment. */
    period: date({ mode: "string" }).notNull(),
    adjustment: boolean().notNull(),
    clusterId: uuid("cluster_id"),
    clusterName: text("cluster_name"),
    resourceType: text("resource_type").$type<MeteredType>().notNull(),
    /** In EUR for one unit and a whole month. */
    unitPriceEUR: eurosColumn("unit_price_eur").notNull(),
    unitSeconds: numeric("unit_seconds", { precision: 40, scale: 0, mode: "bigint" }).notNull(),
    amountCents: centsColumn("amount_cents").notNull(),
    /** The days of the month on which it was charged at this price; null in adjustments, and where it was not noted. */
    firstDay: date("first_day", { mode: "string" }),
    lastDay: date("last_day", { mode: "string" }),
    /** Those of its cluster and organization when it was issued; null where they were not noted. */
    labels: jsonb().$type<Labels>(),
  },
  (table) => [primaryKey({ columns: [table.invoiceId, table.position] })],
);

/** The last positions that the sequences of each year, of invoices and of credit notes, have given out. */
export const documentSequences = pgTable("document_sequences", {
  year: integer().primaryKey(),
  invoices: integer().notNull().default(0),
  creditNotes: integer("credit_notes").notNull().default(0),
});

export const WAITING_REASONS = [
  "billing_profile_incomplete",
  "invoicing_not_configured",
  "code_not_official",
] as const;
export type WaitingReason = (typeof WAITING_REASONS)[number];

/** Months of organizations that have something to be invoiced, and why that has not happened. */
export const waitingInvoices = pgTable(
  "waiting_invoices",
  {
    id: uuid().notNull().unique(),
    orgId: uuid("org_id").notNull(),
    period: date({ mode: "string" }).notNull(),
    reason: text().$type<WaitingReason>().notNull(),
    /** What the month amounted to when it was closed, net. */
    amountCents: centsColumn("amount_cents").notNull(),
    since: timestamp({ withTimezone: true, mode: "date", precision: 3 }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.orgId, table.period] })],
);

/** Closes of months that were asked for, by the staff or by the calendar. */
export const monthCloses = pgTable(
  "month_closes",
  {
    period: date({ mode: "string" }).primaryKey(),
    requestedAt: timestamp("requested_at", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
    /** null: it is under way. */
    finishedAt: timestamp("finished_at", { withTimezone: true, mode: "date", precision: 3 }),
  },
  (table) => [index("month_closes_open_idx").on(table.period).where(sql`${table.finishedAt} is null`)],
);

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
    amountCents: centsColumn("amount_cents").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.creditNoteId, table.position] }),
    check("credit_note_lines_amount", sql`${table.amountCents} > 0`),
  ],
);

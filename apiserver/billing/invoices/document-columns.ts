import { integer, jsonb, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { centsColumn } from "../../db/columns.ts";
import { isVatId } from "../../http/contract/fields.ts";
import type { Supplier } from "./config.ts";
import type { VatCase } from "./vat.ts";

/** Who a document is for, as its profile was when the invoice was issued. */
export interface Buyer {
  name: string;
  street: string | null;
  postalCode: string | null;
  city: string | null;
  country: string;
  vatId: string | null;
  email: string | null;
  /**
   * A tax number that is no VAT id. This and those below are absent in documents that were issued before they existed.
   */
  taxNumber?: string | null;
  /** What the buyer wants to see on its invoices (BT-10). */
  reference?: string | null;
  /** The number of the buyer's purchase order (BT-13). */
  purchaseOrder?: string | null;
}

/**
 * Columns of both kinds of documents, invoices and credit notes: a number without a gap, the amounts and the parties.
 */
export const documentColumns = () => ({
  id: uuid().primaryKey(),
  orgId: uuid("org_id").notNull(),
  number: text().notNull().unique(),
  /** The year of issue in UTC, and the position in it. */
  year: integer().notNull(),
  sequence: integer().notNull(),
  issuedAt: timestamp("issued_at", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
  /** The sum of the lines, net. */
  amountCents: centsColumn("amount_cents").notNull(),
  vatCase: text("vat_case").$type<VatCase>().notNull(),
  /** Hundredths of a percent. */
  vatBasisPoints: integer("vat_basis_points").notNull(),
  vatCents: centsColumn("vat_cents").notNull(),
  supplier: jsonb().$type<Supplier>().notNull(),
  buyer: jsonb().$type<Buyer>().notNull(),
});

/** The numbers by which tax authorities know a party. */
export interface TaxNumbers {
  vatId?: string | null | undefined;
  taxNumber?: string | null | undefined;
}

/**
 * The tax number of a party that is no VAT id: the field made for it, or what stands in place of a VAT id without being
 * one.
 */
export function taxNumberOf({ vatId, taxNumber }: TaxNumbers): string | null {
  if (taxNumber !== null && taxNumber !== undefined) return taxNumber;
  return vatId !== null && vatId !== undefined && !isVatId(vatId) ? vatId : null;
}

import { sql } from "drizzle-orm";
import { check, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { organizations } from "../../organizations/index.ts";

/** Who invoices are for. The VAT id and the e-mail address are those of the organization's own row. */
export const billingProfiles = pgTable(
  "billing_profiles",
  {
    orgId: uuid("org_id")
      .primaryKey()
      .references(() => organizations.id),
    /** The legal name. */
    name: text(),
    street: text(),
    postalCode: text("postal_code"),
    city: text(),
    /** ISO 3166-1 alpha-2. */
    country: text(),
    /** A tax number that is no VAT id. */
    taxNumber: text("tax_number"),
    /** What the customer wants to see on its invoices, and the number of its purchase order. */
    reference: text("buyer_reference"),
    purchaseOrder: text("purchase_order"),
    updatedAt: timestamp("updated_at", { withTimezone: true, mode: "date", precision: 3 })
      .notNull()
      .defaultNow(),
  },
  (table) => [check("billing_profiles_country", sql`${table.country} ~ '^[A-Z]{2}$'`)],
);

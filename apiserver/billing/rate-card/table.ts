import { sql } from "drizzle-orm";
import { check, jsonb, pgTable, text, timestamp, unique, uuid } from "drizzle-orm/pg-core";
import type { AuditActor } from "../../audit/table.ts";
import { eurosColumn } from "../../db/columns.ts";

/**
 * The unit prices of the rate card. Append-only: a price holds from `effective_from` until the next row of its resource
 * type, and the API server's role can neither change nor remove a row.
 */
export const rateCardPrices = pgTable(
  "rate_card_prices",
  {
    id: uuid().primaryKey(),
    resourceType: text("resource_type").notNull(),
    /** In EUR for one unit and a whole month. */
    unitPriceEUR: eurosColumn("unit_price_eur").notNull(),
    effectiveFrom: timestamp("effective_from", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
    changedBy: jsonb("changed_by").$type<AuditActor>().notNull(),
  },
  (table) => [
    unique("rate_card_prices_effective_key").on(table.resourceType, table.effectiveFrom),
    check("rate_card_prices_price_range", sql`${table.unitPriceEUR} >= 0`),
  ],
);

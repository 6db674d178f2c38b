import { sql } from "drizzle-orm";
import { check, index, integer, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { centsColumn, eurosColumn } from "../../db/columns.ts";
import { organizations } from "../../organizations/table.ts";

/** The budget of a month of each organization that has one. The row of a deleted budget stays, for its version. */
export const budgets = pgTable(
  "budgets",
  {
    orgId: uuid("org_id")
      .primaryKey()
      .references(() => organizations.id),
    monthlyLimitEUR: eurosColumn("monthly_limit_eur").notNull(),
    /** Strictly ascending, each from 1 to 100. */
    thresholdsPct: integer("thresholds_pct").array().notNull(),
    createdAt: timestamp("created_at", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
    updatedAt: timestamp("updated_at", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
    deletedAt: timestamp("deleted_at", { withTimezone: true, mode: "date", precision: 3 }),
    /**
     * When the spend is to be compared next: at the next crossing of a threshold if nothing changes, at the next month,
     * or at once after a change of usage, prices or budget. Null: never, for the budget is deleted.
     */
    nextCheckAt: timestamp("next_check_at", { withTimezone: true, mode: "date", precision: 3 }),
    /** Rises with every change, also over a deletion; the record's entity tag. */
    version: integer().notNull(),
  },
  (table) => [
    check("budgets_limit_range", sql`${table.monthlyLimitEUR} > 0`),
    check("budgets_thresholds", sql`cardinality(${table.thresholdsPct}) between 1 and 100`),
    index("budgets_next_check_idx").on(table.nextCheckAt).where(sql`${table.nextCheckAt} is not null`),
  ],
);

/** The thresholds that were reached: each once in a month, whatever becomes of the budget. */
export const budgetAlerts = pgTable(
  "budget_alerts",
  {
    orgId: uuid("org_id")
      .notNull()
      .references(() => organizations.id),
    /** `YYYY-MM`. */
    month: text().notNull(),
    thresholdPct: integer("threshold_pct").notNull(),
    spendCents: centsColumn("spend_cents").notNull(),
    firedAt: timestamp("fired_at", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.orgId, table.month, table.thresholdPct] })],
);

import { integer, pgTable, timestamp, uuid } from "drizzle-orm/pg-core";
import { users } from "../members/table.ts";

/** What the platform's staff set for one user; null and a missing row: the default of the configuration. */
export const userQuotas = pgTable("user_quotas", {
  userId: uuid("user_id")
    .primaryKey()
    .references(() => users.id),
  organizations: integer(),
  /** Rises with every change; the record's entity tag. */
  version: integer().notNull().default(1),
  updatedAt: timestamp("updated_at", { withTimezone: true, mode: "date", precision: 3 })
    .notNull()
    .defaultNow(),
});

import { sql } from "drizzle-orm";
import { check, integer, pgTable, timestamp, uuid } from "drizzle-orm/pg-core";
import { organizations } from "../organizations/table.ts";

/** What the platform's staff set for one organization's shared storage; a missing row: never set. */
export const storageQuotas = pgTable(
  "storage_quotas",
  {
    orgId: uuid("org_id")
      .primaryKey()
      .references(() => organizations.id),
    /** In GiB; null is the default of the configuration. */
    quotaGB: integer("quota_gb"),
    /** Rises with every change; the record's entity tag. */
    version: integer().notNull().default(1),
    updatedAt: timestamp("updated_at", { withTimezone: true, mode: "date", precision: 3 })
      .notNull()
      .defaultNow(),
  },
  (table) => [check("storage_quotas_quota_range", sql`${table.quotaGB} between 1 and 10240`)],
);

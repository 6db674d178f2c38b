import { sql } from "drizzle-orm";
import { check, index, integer, pgTable, text, timestamp, uniqueIndex, uuid } from "drizzle-orm/pg-core";

export const organizations = pgTable(
  "organizations",
  {
    id: uuid().primaryKey(),
    name: text().notNull(),
    slug: text().notNull(),
    billingEmail: text("billing_email"),
    vatId: text("vat_id"),
    /** The user whose quota it counts in. */
    createdBy: uuid("created_by"),
    plan: text().notNull().default("starter"),
    /** Rises with every change of a setting; the record's entity tag. */
    version: integer().notNull().default(1),
    createdAt: timestamp("created_at", { withTimezone: true, mode: "date", precision: 3 })
      .notNull()
      .defaultNow(),
    updatedAt: timestamp("updated_at", { withTimezone: true, mode: "date", precision: 3 })
      .notNull()
      .defaultNow(),
    /** Set under the row's lock when deletion begins; creates inside the organization are refused afterwards. */
    deletingAt: timestamp("deleting_at", { withTimezone: true, mode: "date", precision: 3 }),
    deletedAt: timestamp("deleted_at", { withTimezone: true, mode: "date", precision: 3 }),
    /** When the Namespace was last seen to be there; null asks the job to make it. */
    namespaceReadyAt: timestamp("namespace_ready_at", { withTimezone: true, mode: "date", precision: 3 }),
  },
  (table) => [
    uniqueIndex("organizations_slug_key").on(table.slug).where(sql`${table.deletedAt} is null`),
    index("organizations_creator_idx").on(table.createdBy).where(sql`${table.deletedAt} is null`),
    check("organizations_name_length", sql`char_length(${table.name}) between 1 and 100`),
  ],
);

export type OrganizationRow = typeof organizations.$inferSelect;

/** What the platform's staff set for one organization; null and a missing row: the default of the configuration. */
export const organizationQuotas = pgTable("organization_quotas", {
  orgId: uuid("org_id")
    .primaryKey()
    .references(() => organizations.id),
  clusters: integer(),
  nodePools: integer("node_pools"),
  nodes: integer(),
  vcpus: integer(),
  memoryGB: integer("memory_gb"),
  /** Rises with every change; the record's entity tag. */
  version: integer().notNull().default(1),
  updatedAt: timestamp("updated_at", { withTimezone: true, mode: "date", precision: 3 })
    .notNull()
    .defaultNow(),
});

export type OrganizationQuotasRow = typeof organizationQuotas.$inferSelect;

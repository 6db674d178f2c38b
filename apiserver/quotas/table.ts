import { index, integer, pgTable, primaryKey, timestamp, uuid } from "drizzle-orm/pg-core";

/**
 * Reservations of writes under way: all that the object will count, not just what it grows by. A row counts
 * until the write is complete, or until its lease ends; an object that is also projected counts once, at the greater.
 */
export const quotaReservations = pgTable(
  "quota_reservations",
  {
    /** One write; it may make or change several objects. */
    id: uuid().notNull(),
    objectId: uuid("object_id").notNull(),
    orgId: uuid("org_id").notNull(),
    clusters: integer().notNull(),
    nodePools: integer("node_pools").notNull(),
    nodes: integer().notNull(),
    vcpus: integer().notNull(),
    memoryGB: integer("memory_gb").notNull(),
    leasedUntil: timestamp("leased_until", { withTimezone: true }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.id, table.objectId] }),
    index("quota_reservations_org_idx").on(table.orgId),
  ],
);

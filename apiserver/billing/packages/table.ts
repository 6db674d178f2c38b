import { sql } from "drizzle-orm";
import { boolean, check, integer, jsonb, pgTable, text, timestamp, unique, uuid } from "drizzle-orm/pg-core";
import type { AuditActor } from "../../audit/table.ts";
import { eurosColumn } from "../../db/columns.ts";

/**
 * The packages that a cluster can be billed as. Append-only: a row holds from `effective_from` until the next row of
 * its slug, and the API server's role can neither change nor remove a row.
 */
export const packageTerms = pgTable(
  "package_terms",
  {
    id: uuid().primaryKey(),
    slug: text().notNull(),
    /** In EUR for a whole month. */
    monthlyPriceEUR: eurosColumn("monthly_price_eur").notNull(),
    controlPlaneReplicas: integer("control_plane_replicas").notNull(),
    /** What the price contains, in the units of the rate card. */
    controlPlanes: integer("control_planes").notNull(),
    vcpus: integer().notNull(),
    memoryGB: integer("memory_gb").notNull(),
    diskGB: integer("disk_gb").notNull(),
    /** A retired package stays on the clusters that have it, and no new one can be created with it. */
    retired: boolean().notNull(),
    effectiveFrom: timestamp("effective_from", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
    changedBy: jsonb("changed_by").$type<AuditActor>().notNull(),
  },
  (table) => [
    unique("package_terms_effective_key").on(table.slug, table.effectiveFrom),
    check("package_terms_price_range", sql`${table.monthlyPriceEUR} >= 0`),
    check("package_terms_replicas", sql`${table.controlPlaneReplicas} in (1, 3, 5)`),
  ],
);

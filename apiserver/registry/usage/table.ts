import { bigint, integer, jsonb, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { time } from "../../db/columns.ts";
import { organizations } from "../../organizations/table.ts";

/**
 * One row per organization that may have images, written before it is first given a token to push: what its images
 * take, as the last measurement found it and what was pushed since, and whose turn it is to be scanned.
 */
export const registryUsage = pgTable("registry_usage", {
  orgId: uuid("org_id")
    .primaryKey()
    .references(() => organizations.id),
  /** The sum of the blobs of all tagged images, each counted once. */
  storedBytes: bigint("stored_bytes", { mode: "number" }).notNull().default(0),
  tagCount: integer("tag_count").notNull().default(0),
  /** When the measurement began; null before the first one. */
  measuredAt: timestamp("measured_at", { withTimezone: true, mode: "date", precision: 3 }),
  /** The sum of the blobs that the registry has reported since then; one that was pushed twice counts twice. */
  pushedBytes: bigint("pushed_bytes", { mode: "number" }).notNull().default(0),
  /** When the last scan of its images started; null before the first one. */
  scanStartedAt: time("scan_started_at"),
  createdAt: time("created_at").notNull().defaultNow(),
});

/** The blobs of each tagged image, read once, for a digest stands for its content. */
export const registryImages = pgTable(
  "registry_images",
  {
    orgId: uuid("org_id")
      .notNull()
      .references(() => organizations.id),
    digest: text().notNull(),
    /** Stored bytes by the digest of the blob, the manifests included. */
    blobs: jsonb().$type<Record<string, number>>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.orgId, table.digest] })],
);

export type UsageRow = typeof registryUsage.$inferSelect;

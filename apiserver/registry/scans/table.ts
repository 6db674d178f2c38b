import { sql } from "drizzle-orm";
import { check, index, integer, jsonb, pgTable, primaryKey, smallint, text, uuid } from "drizzle-orm/pg-core";
import { time } from "../../db/columns.ts";
import { organizations } from "../../organizations/table.ts";
import type { ScanState, Summary, Vulnerability } from "../report.ts";
import type { ScanFault } from "./scan-error.ts";

/** The scans of the images in the registry: one row per digest of an organization, whatever tags name it. */
export const registryScans = pgTable(
  "registry_scans",
  {
    orgId: uuid("org_id")
      .notNull()
      .references(() => organizations.id),
    digest: text().notNull(),
    /** Without the organization's prefix; the one that it was last pushed to or requested in. */
    repository: text().notNull(),
    state: text().$type<ScanState>().notNull(),
    /** The lower, the sooner. */
    priority: smallint().notNull(),
    /** Attempts since the scan was requested, the running one and those that ended with their process too. */
    attempts: integer().notNull().default(0),
    /** While it is pending, when it may start; while it runs, when its claim ends. */
    dueAt: time("due_at"),
    /** The claim of the running attempt. */
    claimId: uuid("claim_id"),
    startedAt: time("started_at"),
    fault: text().$type<ScanFault>(),
    /** What the scanner said, for the platform's staff. */
    faultMessage: text("fault_message"),
    /** When the last report was made; the three columns below are of that report too. */
    scannedAt: time("scanned_at"),
    /** Which database of vulnerabilities it was made with. */
    databaseVersion: text("database_version"),
    summary: jsonb().$type<Summary>(),
    vulnerabilities: jsonb().$type<Vulnerability[]>(),
    /** When it was last pushed or pulled. */
    usedAt: time("used_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.orgId, table.digest] }),
    index("registry_scans_pending_idx")
      .on(table.orgId, table.priority, table.dueAt)
      .where(sql`${table.dueAt} is not null`),
    check(
      "registry_scans_state",
      sql`${table.state} in ('pending', 'running', 'success', 'error', 'unsupported')`,
    ),
    check(
      "registry_scans_due",
      sql`(${table.dueAt} is not null) = (${table.state} in ('pending', 'running'))`,
    ),
    check("registry_scans_report", sql`(${table.summary} is null) = (${table.scannedAt} is null)`),
  ],
);

export type ScanRow = typeof registryScans.$inferSelect;

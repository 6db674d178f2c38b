import { sql } from "drizzle-orm";
import { check, index, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import type { AuditEntry } from "../../audit/index.ts";
import type { Origin } from "../../http/authentication/principal.ts";

/**
 * Writes of custom resources that are about to be made, each with its audit row: committed before the object is written,
 * removed in the transaction that writes the audit row. A row that stays was left by a crash.
 */
export const writeIntents = pgTable(
  "write_intents",
  {
    id: uuid().primaryKey(),
    kind: text({ enum: ["Cluster", "NodePool", "ClusterAccess"] }).notNull(),
    verb: text({ enum: ["create", "change", "delete"] }).notNull(),
    namespace: text().notNull(),
    name: text().notNull(),
    /** The uid of the object that is changed or deleted. */
    uid: uuid(),
    /** The version that the write builds on. */
    resourceVersion: text("resource_version"),
    requestId: text("request_id").notNull(),
    /** The request that made that version: a write that builds on it proves that it was made. */
    previousRequestId: text("previous_request_id"),
    origin: jsonb().$type<Origin>().notNull(),
    entry: jsonb().$type<AuditEntry>().notNull(),
    startedAt: timestamp("started_at", { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    check("write_intents_kind", sql`${table.kind} in ('Cluster', 'NodePool', 'ClusterAccess')`),
    check("write_intents_verb", sql`${table.verb} in ('create', 'change', 'delete')`),
    index("write_intents_started_idx").on(table.startedAt),
    index("write_intents_uid_idx").on(table.uid),
  ],
);

export type WriteIntent = typeof writeIntents.$inferSelect;

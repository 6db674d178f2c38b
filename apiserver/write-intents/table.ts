import { sql } from "drizzle-orm";
import { check, index, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import type { AuditEntry } from "../audit/index.ts";
import type { Origin } from "../http/authentication/principal.ts";

/**
 * What a request is about to do to one custom resource, and the audit row that will tell of it: committed before the
 * object is written, removed in the transaction that writes the audit row. What is left here, a crash left.
 */
export const writeIntents = pgTable(
  "write_intents",
  {
    id: uuid().primaryKey(),
    kind: text({ enum: ["Cluster", "NodePool", "ClusterAccess"] }).notNull(),
    verb: text({ enum: ["create", "change", "delete"] }).notNull(),
    namespace: text().notNull(),
    name: text().notNull(),
    /** Of the object that is changed or deleted. */
    uid: uuid(),
    /** The version that the write builds on. */
    resourceVersion: text("resource_version"),
    requestId: text("request_id").notNull(),
    /** The request that made the version before: whoever builds on a version knows that it was written. */
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

import { index, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";

/** Who did it, as it was known then. */
export type AuditActor =
  | { kind: "user"; userId: string; email: string | null }
  | { kind: "kubernetes"; manager: string }
  | { kind: "system"; name: string };

/** The allow-listed fields of a record, by their name on the wire. Never a secret. */
export type AuditFields = Readonly<Record<string, unknown>>;

/** Append-only: the database role has INSERT and SELECT on it, and UPDATE of the columns that settle an intent. */
export const auditLog = pgTable(
  "audit_log",
  {
    id: uuid().primaryKey(),
    at: timestamp({ withTimezone: true, mode: "date", precision: 3 }).notNull().defaultNow(),
    actor: jsonb().$type<AuditActor>().notNull(),
    action: text().notNull(),
    orgId: uuid("org_id"),
    targetKind: text("target_kind").notNull(),
    targetId: text("target_id").notNull(),
    before: jsonb().$type<AuditFields>(),
    after: jsonb().$type<AuditFields>(),
    requestId: text("request_id"),
    sourceAddress: text("source_address"),
    result: text().notNull(),
  },
  (table) => [index("audit_log_org").on(table.orgId, table.id)],
);

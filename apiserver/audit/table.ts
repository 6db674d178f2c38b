import { sql } from "drizzle-orm";
import { bigint, index, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";

/** The author of a change, as known at that time. */
export type AuditActor =
  | { kind: "user"; userId: string; email: string | null }
  | { kind: "staff"; userId: string; email: string | null }
  | { kind: "token"; tokenId: string; userId: string }
  | { kind: "kubernetes"; manager: string }
  | { kind: "system"; name: string };

/** The allow-listed fields of a record, by their name on the wire. Never a secret. */
export type AuditFields = Readonly<Record<string, unknown>>;

/** Append-only: a trigger refuses every change of a row but the assignment of its position. */
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
    /** The position in the log, assigned after the commit, so that no row ever appears before one already read. */
    position: bigint({ mode: "number" }).unique("audit_log_position"),
  },
  (table) => [
    index("audit_log_org_idx").on(table.orgId, table.position),
    index("audit_log_unplaced_idx").on(table.id).where(sql`${table.position} is null`),
  ],
);

export type AuditRow = typeof auditLog.$inferSelect;

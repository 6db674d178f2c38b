import { sql } from "drizzle-orm";
import {
  bigint,
  index,
  integer,
  jsonb,
  pgSequence,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";
import { time } from "../db/columns.ts";

/** The author of a change, as known at that time. */
export type AuditActor =
  | { kind: "user"; userId: string; email: string | null }
  | { kind: "staff"; userId: string; email: string | null }
  | { kind: "token"; tokenId: string; userId: string }
  | { kind: "kubernetes"; manager: string }
  /** Whom the Kubernetes API has authenticated; a name of its own, which is no user's id here. */
  | { kind: "kubernetes_user"; name: string }
  | { kind: "system"; name: string };

/** The allow-listed fields of a record, by their name on the wire. Never a secret. */
export type AuditFields = Readonly<Record<string, unknown>>;

export interface AuditEntry {
  /** `<resource>.<verb>`, as in `organization.create`. */
  action: string;
  orgId: string | null;
  target: { kind: string; id: string };
  before?: AuditFields;
  after?: AuditFields;
  result: "accepted" | "done" | "failed";
}

/** Positions grow also after the partition of the last one was dropped. */
export const auditPositions = pgSequence("audit_log_position_seq");

/**
 * Append-only: a trigger refuses every change of a row but the assignment of its position. Partitioned by the month of
 * `at` in UTC; the partitions are in the schema `audit_log_partitions`, see addAuditPartitions in store.ts.
 */
export const auditLog = pgTable(
  "audit_log",
  {
    id: uuid().notNull(),
    at: timestamp({ withTimezone: true, mode: "date", precision: 3 }).notNull().defaultNow(),
    actor: jsonb().$type<AuditActor>().notNull(),
    action: text().notNull(),
    orgId: uuid("org_id"),
    targetKind: text("target_kind").notNull(),
    targetId: text("target_id").notNull(),
    before: jsonb().$type<AuditFields>(),
    after: jsonb().$type<AuditFields>(),
    requestId: text("request_id"),
    /** What the client called its request; forgeable and not unique. */
    clientRequestId: text("client_request_id"),
    sourceAddress: text("source_address"),
    result: text().$type<AuditEntry["result"]>().notNull(),
    /** The position in the log, assigned after the commit, so that no row ever appears before one already read. */
    position: bigint({ mode: "number" }),
  },
  (table) => [
    // Postgres asks for the partitioning column in every unique index.
    primaryKey({ columns: [table.id, table.at], name: "audit_log_id_at_pk" }),
    index("audit_log_position_idx").on(table.position),
    index("audit_log_org_idx").on(table.orgId, table.position),
    index("audit_log_org_action_idx").on(table.orgId, table.action, table.position),
    index("audit_log_action_idx").on(table.action, table.position),
    index("audit_log_actor_idx").using("gin", table.actor.op("jsonb_path_ops")),
    index("audit_log_unplaced_idx").on(table.id).where(sql`${table.position} is null`),
  ],
);

/** How often someone without the role asked for an operation of the platform's staff, within an hour. */
export const refusedRequests = pgTable(
  "refused_requests",
  {
    /** Id of the user or of the API token. */
    actorId: uuid("actor_id").notNull(),
    operationId: text("operation_id").notNull(),
    hour: timestamp({ withTimezone: true, mode: "date", precision: 0 }).notNull(),
    actor: jsonb().$type<AuditActor>().notNull(),
    count: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.hour, table.actorId, table.operationId] })],
);

/**
 * Deletions that the audit events of the Kubernetes API report: kept for a day, to find out who deleted an object. A
 * row is about all requests of a user for one name that ended within a minute.
 */
export const deletionRequests = pgTable(
  "deletion_requests",
  {
    orgId: uuid("org_id").notNull(),
    resource: text().$type<DeletedResource>().notNull(),
    /** Name of the object; empty for a collection. */
    name: text().notNull(),
    /** Who deleted. */
    username: text().notNull(),
    /** Who acted under that name; empty when no other user did. */
    impersonator: text().notNull(),
    minute: time("minute").notNull(),
    /** When the first of them came. */
    receivedAt: time("received_at").notNull(),
    /** When the last of them ended, within the minute. */
    completedAt: time("completed_at").notNull(),
  },
  (table) => [
    primaryKey({
      name: "deletion_requests_pk",
      columns: [table.orgId, table.resource, table.name, table.minute, table.username, table.impersonator],
    }),
    index("deletion_requests_completed_idx").on(table.completedAt),
  ],
);

/** Deletions that were not requested by REST and whose entry of the audit log waits for the name of the deleter. */
export const awaitedDeletions = pgTable(
  "awaited_deletions",
  {
    id: uuid().primaryKey(),
    orgId: uuid("org_id").notNull(),
    resource: text().$type<DeletedResource>().notNull(),
    name: text().notNull(),
    targetId: text("target_id").notNull(),
    createdAt: time("created_at").notNull(),
    /** When the deletion was requested, to the second; null for an object that was gone at once. */
    requestedAt: time("requested_at"),
    seenAt: time("seen_at").notNull(),
    entry: jsonb().$type<AuditEntry>().notNull(),
  },
  (table) => [
    index("awaited_deletions_target_idx").on(table.orgId, table.targetId),
    index("awaited_deletions_seen_idx").on(table.seenAt),
  ],
);

/** Kinds of objects, by their names in the Kubernetes API, of which it is asked who deleted them. */
export type DeletedResource = "clusters" | "nodepools" | "clusteraccesses";

export type AuditRow = typeof auditLog.$inferSelect;

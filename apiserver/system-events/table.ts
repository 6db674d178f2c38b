import { sql } from "drizzle-orm";
import {
  bigint,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";

/** One thing that happened to a cluster, in the words of the operator, a machine or the hypervisor. */
export interface SystemEventPayload {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
  source: "operator" | "machine" | "hypervisor";
  object: { kind: string; name: string };
  count: number;
  firstSeenAt: string;
  lastSeenAt: string;
}

/** A change of status of a cluster or, with a node pool id, of a pool. */
export interface StatusPayload {
  status: string;
  previousStatus: string | null;
  message: string | null;
  at: string;
}

/**
 * Every event of every cluster's stream, append-only. Ids become visible in their order (see `appendEvents`), so a
 * reader may page `id > last` and misses nothing.
 */
export const systemEvents = pgTable(
  "system_events",
  {
    id: bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
    clusterId: uuid("cluster_id").notNull(),
    nodePoolId: uuid("node_pool_id"),
    kind: text({ enum: ["system-event", "status"] }).notNull(),
    /** uid and count of the Kubernetes Event: a count that rises is a new row, the same one never is. */
    eventUid: uuid("event_uid"),
    eventCount: integer("event_count"),
    payload: jsonb().$type<SystemEventPayload | StatusPayload>().notNull(),
    recordedAt: timestamp("recorded_at", { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    check("system_events_kind", sql`${table.kind} in ('system-event', 'status')`),
    index("system_events_cluster_idx").on(table.clusterId, table.id),
    index("system_events_recorded_idx").on(table.recordedAt),
    uniqueIndex("system_events_source_key").on(table.eventUid, table.eventCount),
  ],
);

/** Whom a ticket stands for: a principal without what only its own credential can prove. */
export type StreamTicketHolder =
  | { kind: "user"; userId: string; issuer: string; expiresAtMs: number }
  | { kind: "token"; userId: string; tokenId: string; orgId: string; expiresAtMs: number };

/** One-use tickets for clients that can send no header; a row is one that may still be used. */
export const streamTickets = pgTable(
  "stream_tickets",
  {
    /** SHA-256 in hexadecimal. */
    hash: text().primaryKey(),
    /** The path that it opens, in lower case. */
    path: text().notNull(),
    holder: jsonb().$type<StreamTicketHolder>().notNull(),
    expiresAt: timestamp("expires_at", { withTimezone: true }).notNull(),
  },
  (table) => [index("stream_tickets_expiry_idx").on(table.expiresAt)],
);

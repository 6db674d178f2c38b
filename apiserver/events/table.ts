import { sql } from "drizzle-orm";
import {
  bigint,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { time } from "../db/columns.ts";
import type { SentEventType } from "./event-types.ts";

/** No foreign key: each insert would find the row of the organization and lock it, which writes that row too. */
const orgId = () => uuid("org_id").notNull();

/** An event of a cluster as reported by the operator, a machine or the hypervisor. */
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

/** A change of the status of a cluster or, with a node pool id, of a node pool. */
export interface StatusPayload {
  status: string;
  previousStatus: string | null;
  message: string | null;
  at: string;
}

/**
 * The id of each cluster's latest event in the feed. Rows stay when the events are deleted: no id is given twice. Ids count the events
 * of one cluster, so that its tenant learns nothing about others from them.
 */
export const feedEventCounters = pgTable("system_event_counters", {
  clusterId: uuid("cluster_id").primaryKey(),
  lastId: bigint("last_id", { mode: "number" }).notNull(),
});

/**
 * The feed of all clusters, in the table `system_events`: its events are never changed, and deleted after seven days. An event is read by the organization that it was
 * written for alone. Ids of a cluster become visible in ascending order (see `appendFeedEvents`), so a reader that continues
 * with `id > last` misses none.
 */
export const feedEvents = pgTable(
  "system_events",
  {
    id: bigint({ mode: "number" }).notNull(),
    /** Null in rows of an earlier version; they end with the retention. */
    orgId: uuid("org_id"),
    clusterId: uuid("cluster_id").notNull(),
    nodePoolId: uuid("node_pool_id"),
    kind: text({ enum: ["system-event", "status"] }).notNull(),
    /** uid and count of the Kubernetes Event: a higher count is a new row, the same count is not. */
    eventUid: uuid("event_uid"),
    eventCount: integer("event_count"),
    payload: jsonb().$type<SystemEventPayload | StatusPayload>().notNull(),
    recordedAt: timestamp("recorded_at", { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    check("system_events_kind", sql`${table.kind} in ('system-event', 'status')`),
    primaryKey({ name: "system_events_pkey", columns: [table.clusterId, table.id] }),
    index("system_events_recorded_idx").on(table.recordedAt),
    uniqueIndex("system_events_source_key").on(table.eventUid, table.eventCount),
  ],
);

/** What has happened, once per event, whether or not a webhook subscribes to it; kept for 30 days. */
export const webhookEvents = pgTable(
  "webhook_events",
  {
    /** The `webhook-id` of every attempt. */
    id: uuid().primaryKey(),
    orgId: orgId(),
    type: text().$type<SentEventType>().notNull(),
    /** The exact text that is signed and sent. */
    body: text().notNull(),
    occurredAt: time("occurred_at").notNull(),
    createdAt: time("created_at").notNull().defaultNow(),
    /** The webhooks that subscribed when it was written, until their deliveries are made; null afterwards, and where none did. */
    pendingWebhookIds: uuid("pending_webhook_ids").array(),
  },
  (table) => [
    index("webhook_events_org_idx").on(table.orgId, table.createdAt),
    index("webhook_events_created_idx").on(table.createdAt),
    index("webhook_events_pending_idx").on(table.id).where(sql`${table.pendingWebhookIds} is not null`),
  ],
);

export type WebhookEventRow = typeof webhookEvents.$inferSelect;

import { sql } from "drizzle-orm";
import {
  boolean,
  check,
  customType,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { literals, time } from "../db/columns.ts";
import type { SentEventType, SubscribedType } from "../events/event-types.ts";
import { webhookEvents } from "../events/table.ts";
import { organizations } from "../organizations/table.ts";

const bytes = customType<{ data: Buffer }>({ dataType: () => "bytea" });
/** Only `webhooks` has a foreign key: each insert of a delivery or an attempt would lock the organization's row, which writes it. */
const orgId = () => uuid("org_id").notNull();

/**
 * What a delivery was made for: an event as it happened, a test, one delivery again (redelivery), or the events that the webhook
 * has missed since a time (recovery).
 */
export const DELIVERY_TRIGGERS = ["event", "test", "redelivery", "recovery"] as const;
export type DeliveryTrigger = (typeof DELIVERY_TRIGGERS)[number];
export const DELIVERY_STATUSES = ["pending", "delivered", "failed", "cancelled"] as const;
/** Why an attempt failed. */
export const ERROR_CLASSES = [
  "dns",
  "connect",
  "tls",
  "timeout",
  "status",
  "protocol",
  "blocked_address",
] as const;
export type ErrorClass = (typeof ERROR_CLASSES)[number];

/** Why a webhook was disabled other than by its tenant. */
export const DISABLED_REASONS = ["gone", "failing"] as const;

/** The webhooks of tenants; `subscribed_webhooks`, a SQL function, selects those of an event. */
export const webhooks = pgTable(
  "webhooks",
  {
    id: uuid().primaryKey(),
    orgId: orgId().references(() => organizations.id),
    url: text().notNull(),
    description: text().notNull(),
    events: text().array().$type<SubscribedType[]>().notNull(),
    enabled: boolean().notNull(),
    createdAt: time("created_at").notNull().defaultNow(),
    updatedAt: time("updated_at").notNull().defaultNow(),
    /** Null also when its tenant disabled it. */
    disabledReason: text("disabled_reason", { enum: DISABLED_REASONS }),
    disabledAt: time("disabled_at"),
    /** When it was deleted, or will be: the deletion of its organization sets a later time, until which deliveries are sent. */
    deletedAt: time("deleted_at"),
    /** Rises with every change of the settings; the record's entity tag. */
    version: integer().notNull().default(1),
  },
  (table) => [
    index("webhooks_org_idx").on(table.orgId, table.id),
    check("webhooks_disabled_reason", sql`${table.disabledReason} in ${literals(DISABLED_REASONS)}`),
    check("webhooks_disabled", sql`${table.enabled} or ${table.disabledAt} is not null`),
  ],
);

/** Signing secrets, encrypted with AES-256-GCM; the webhook's id is authenticated with them. */
export const webhookSecrets = pgTable(
  "webhook_secrets",
  {
    id: uuid().primaryKey(),
    webhookId: uuid("webhook_id")
      .notNull()
      .references(() => webhooks.id, { onDelete: "cascade" }),
    orgId: orgId(),
    /** Nonce, ciphertext and tag. */
    ciphertext: bytes().notNull(),
    /** The name of the key that it is encrypted with. */
    keyId: text("key_id").notNull(),
    createdAt: time("created_at").notNull().defaultNow(),
    /** A replaced secret still signs until then; null for the one in use. */
    expiresAt: time("expires_at"),
  },
  (table) => [
    index("webhook_secrets_webhook_idx").on(table.webhookId, table.id),
    index("webhook_secrets_key_idx").on(table.keyId),
  ],
);

/** One event for one webhook. Which of them are being attempted is in its queue (`claims`). */
export const webhookDeliveries = pgTable(
  "webhook_deliveries",
  {
    id: uuid().primaryKey(),
    orgId: orgId(),
    webhookId: uuid("webhook_id")
      .notNull()
      .references(() => webhooks.id),
    eventId: uuid("event_id")
      .notNull()
      .references(() => webhookEvents.id),
    eventType: text("event_type").$type<SentEventType>().notNull(),
    trigger: text({ enum: DELIVERY_TRIGGERS }).notNull(),
    status: text({ enum: DELIVERY_STATUSES }).notNull().default("pending"),
    attempts: integer().notNull().default(0),
    maxAttempts: integer("max_attempts").notNull(),
    /** Set while it is pending. */
    nextAttemptAt: time("next_attempt_at").defaultNow(),
    lastStatusCode: integer("last_status_code"),
    lastErrorClass: text("last_error_class", { enum: ERROR_CLASSES }),
    createdAt: time("created_at").notNull().defaultNow(),
    completedAt: time("completed_at"),
  },
  (table) => [
    index("webhook_deliveries_webhook_idx").on(table.webhookId, table.id),
    index("webhook_deliveries_pending_idx")
      .on(table.webhookId, table.nextAttemptAt)
      .where(sql`${table.status} = 'pending'`),
    index("webhook_deliveries_event_idx").on(table.eventId),
    uniqueIndex("webhook_deliveries_once_idx")
      .on(table.eventId, table.webhookId)
      .where(sql`${table.trigger} = 'event'`),
    check("webhook_deliveries_trigger", sql`${table.trigger} in ${literals(DELIVERY_TRIGGERS)}`),
    check("webhook_deliveries_status", sql`${table.status} in ${literals(DELIVERY_STATUSES)}`),
    check(
      "webhook_deliveries_pending",
      sql`(${table.status} = 'pending') = (${table.nextAttemptAt} is not null)`,
    ),
  ],
);

/** What was sent and what came back; the response of old deliveries is removed, the whole row with its delivery. */
export const webhookAttempts = pgTable(
  "webhook_attempts",
  {
    /** No foreign key: the statement that adds a row has locked the delivery, and a check of each row takes longer than the insert. */
    deliveryId: uuid("delivery_id").notNull(),
    /** From 1. */
    number: integer().notNull(),
    orgId: orgId(),
    at: time("at").notNull(),
    durationMs: integer("duration_ms").notNull(),
    requestUrl: text("request_url").notNull(),
    requestHeaders: jsonb("request_headers").$type<Record<string, string>>().notNull(),
    /** Null when no response came. */
    statusCode: integer("status_code"),
    responseHeaders: jsonb("response_headers").$type<Record<string, string>>(),
    /** The first 16 KiB, as text in which an invalid byte takes three. */
    responseBody: bytes("response_body"),
    errorClass: text("error_class", { enum: ERROR_CLASSES }),
    errorMessage: text("error_message"),
  },
  (table) => [primaryKey({ columns: [table.deliveryId, table.number] })],
);

/** Deliveries of a webhook that one process attempts. After its end they are due again, whatever became of the process. */
export interface DeliveryClaim {
  id: string;
  /** Milliseconds since 1970, of the database's clock. */
  endsAtMs: number;
  deliveryIds: string[];
}

/**
 * When the deliverers look at a webhook, what they are attempting, and the health of its endpoint; a row for each webhook.
 * A transaction that adds a pending delivery makes the row due (`makeQueuesDue`); a claim and the result of an attempt lock it.
 * So no wake-up is lost, the cap of an endpoint holds over all replicas, and a claim writes one row for many deliveries.
 */
export const webhookQueues = pgTable(
  "webhook_queues",
  {
    webhookId: uuid("webhook_id")
      .primaryKey()
      .references(() => webhooks.id, { onDelete: "cascade" }),
    orgId: orgId(),
    /** Null while nothing is to be claimed. */
    dueAt: time("due_at"),
    claims: jsonb().$type<DeliveryClaim[]>().notNull().default([]),
    /** No attempt before then: after ten consecutive failures of the endpoint, or for a minute after a fault of Marina's own. */
    pausedUntil: time("paused_until"),
    consecutiveFailures: integer("consecutive_failures").notNull().default(0),
    /** Events whose last attempt failed, since the last success. */
    exhaustedEvents: integer("exhausted_events").notNull().default(0),
    /** The first failure since the last success. */
    failingSince: time("failing_since"),
    /** When the audit log recorded that it has been failing for four days; the column has an older name. */
    failureAuditedAt: time("failure_reported_at"),
    /** The start of the attempt that began last; the column has an older name. */
    lastAttemptAt: time("last_delivery_at"),
    lastStatusCode: integer("last_status_code"),
    /**
     * The responses of every delivery up to this one are removed, and those of further attempts are not kept. The column has an
     * older name.
     */
    responsesPurgedTo: uuid("answers_purged_to"),
  },
  (table) => [index("webhook_queues_due_idx").on(table.dueAt).where(sql`${table.dueAt} is not null`)],
);

export type WebhookRow = typeof webhooks.$inferSelect;
export type WebhookSecretRow = typeof webhookSecrets.$inferSelect;
export type WebhookDeliveryRow = typeof webhookDeliveries.$inferSelect;
export type WebhookAttemptRow = typeof webhookAttempts.$inferSelect;
export type WebhookQueueRow = typeof webhookQueues.$inferSelect;

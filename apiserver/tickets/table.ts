import { sql } from "drizzle-orm";
import {
  boolean,
  check,
  customType,
  index,
  integer,
  pgTable,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { time } from "../db/columns.ts";
import { users } from "../members/table.ts";
import { organizations } from "../organizations/table.ts";

/** The states of a ticket, in the order in which most pass through them. */
export const TICKET_STATUSES = ["open", "in_progress", "waiting", "resolved", "closed"] as const;
export type TicketStatus = (typeof TICKET_STATUSES)[number];
export const TICKET_SEVERITIES = ["low", "medium", "high", "critical"] as const;
export type TicketSeverity = (typeof TICKET_SEVERITIES)[number];
export const TICKET_CATEGORIES = [
  "cluster",
  "networking",
  "storage",
  "identity",
  "billing",
  "feature_request",
  "general",
] as const;
export type TicketCategory = (typeof TICKET_CATEGORIES)[number];
/** Who wrote a message of a ticket. */
export const AUTHOR_TYPES = ["tenant", "provider"] as const;
export type AuthorType = (typeof AUTHOR_TYPES)[number];

const searchDocument = customType<{ data: string }>({ dataType: () => "tsvector" });

/** Tickets of organizations. Each list of the platform's staff, the newest first, has its own index. */
export const tickets = pgTable(
  "tickets",
  {
    id: uuid().primaryKey(),
    orgId: uuid("org_id")
      .notNull()
      .references(() => organizations.id),
    /** Without a foreign key: the records of clusters can be written anew. */
    clusterId: uuid("cluster_id"),
    subject: text().notNull(),
    category: text().$type<TicketCategory>().notNull(),
    severity: text().$type<TicketSeverity>().notNull(),
    status: text().$type<TicketStatus>().notNull(),
    /** Null for a ticket that an API token opened. */
    createdBy: uuid("created_by").references(() => users.id),
    assignedTo: uuid("assigned_to").references(() => users.id),
    firstResponseAt: time("first_response_at"),
    resolvedAt: time("resolved_at"),
    /** Since when the tenant waits for an answer; null once the last public message is the provider's. */
    awaitingSince: time("awaiting_since"),
    /** The rule of respond-by.ts, stored so that an index finds what is overdue. */
    respondBy: time("respond_by"),
    createdAt: time("created_at").notNull(),
    updatedAt: time("updated_at").notNull(),
    /** The number of the last message, internal ones too: tenants never see it. */
    lastMessageNumber: integer("last_message_number").notNull(),
    /** Rises with every change that tenants see; the record's entity tag. */
    version: integer().notNull().default(1),
  },
  (table) => [
    index("tickets_org_idx").on(table.orgId, table.id),
    index("tickets_status_idx").on(table.status, table.id),
    index("tickets_severity_idx").on(table.severity, table.id),
    index("tickets_category_idx").on(table.category, table.id),
    index("tickets_assigned_idx").on(table.assignedTo, table.id).where(sql`${table.assignedTo} is not null`),
    index("tickets_unassigned_idx").on(table.id).where(sql`${table.assignedTo} is null`),
    index("tickets_respond_by_idx").on(table.respondBy).where(sql`${table.respondBy} is not null`),
    check("tickets_status", sql`${table.status} in ('open', 'in_progress', 'waiting', 'resolved', 'closed')`),
    check("tickets_severity", sql`${table.severity} in ('low', 'medium', 'high', 'critical')`),
    check(
      "tickets_category",
      sql`${table.category} in ('cluster', 'networking', 'storage', 'identity', 'billing', 'feature_request', 'general')`,
    ),
  ],
);

/** The messages of tickets, internal notes of the staff among them. */
export const ticketMessages = pgTable(
  "ticket_messages",
  {
    id: uuid().primaryKey(),
    orgId: uuid("org_id").notNull(),
    ticketId: uuid("ticket_id")
      .notNull()
      .references(() => tickets.id),
    /** The place in the ticket, given under the lock of its row: the same order for every reader. */
    number: integer().notNull(),
    /** Null for a message that an API token wrote. */
    authorId: uuid("author_id").references(() => users.id),
    authorType: text("author_type").$type<AuthorType>().notNull(),
    /** A note of the staff: tenants see neither it nor any trace of it. */
    internal: boolean().notNull(),
    /** The subject of the ticket, in its first message alone, so that one column is searched. */
    subject: text(),
    body: text().notNull(),
    createdAt: time("created_at").notNull(),
    search: searchDocument().generatedAlwaysAs(
      sql`to_tsvector('simple'::regconfig, coalesce(subject, '') || ' ' || body)`,
    ),
  },
  (table) => [
    uniqueIndex("ticket_messages_number_key").on(table.ticketId, table.number),
    index("ticket_messages_org_idx").on(table.orgId, table.createdAt),
    // Without fastupdate no writer waits while the entries of others are moved into the index.
    index("ticket_messages_search_idx").using("gin", table.search).with({ fastupdate: false }),
    check("ticket_messages_author_type", sql`${table.authorType} in ('tenant', 'provider')`),
    check("ticket_messages_internal", sql`not ${table.internal} or ${table.authorType} = 'provider'`),
  ],
);

export type TicketRow = typeof tickets.$inferSelect;
export type TicketMessageRow = Omit<typeof ticketMessages.$inferSelect, "search">;

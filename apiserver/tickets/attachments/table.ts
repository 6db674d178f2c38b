import { sql } from "drizzle-orm";
import { boolean, check, index, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { time } from "../../db/columns.ts";
import { users } from "../../members/table.ts";
import { type AuthorType, ticketMessages, tickets } from "../table.ts";
import type { AttachmentType } from "./schema.ts";

/** Files of messages; the bytes are in the object store. */
export const ticketAttachments = pgTable(
  "ticket_attachments",
  {
    id: uuid().primaryKey(),
    orgId: uuid("org_id").notNull(),
    ticketId: uuid("ticket_id")
      .notNull()
      .references(() => tickets.id),
    /** The message that took it; null until then, and then only its uploader sees it. */
    messageId: uuid("message_id").references(() => ticketMessages.id),
    /** That message is a note of the staff: tenants see neither. */
    internal: boolean().notNull().default(false),
    /** `user:<id>` or `token:<id>`: who may complete it and put it into a message. */
    uploader: text().notNull(),
    /** Null for an API token. */
    createdBy: uuid("created_by").references(() => users.id),
    authorType: text("author_type").$type<AuthorType>().notNull(),
    filename: text().notNull(),
    contentType: text("content_type").$type<AttachmentType>().notNull(),
    sizeBytes: integer("size_bytes").notNull(),
    /** In hexadecimal digits. */
    sha256: text().notNull(),
    createdAt: time("created_at").notNull(),
    /** Since when the bytes are at their final key. */
    completedAt: time("completed_at"),
    /** Set before its objects are removed: nothing can take it any more. */
    discardedAt: time("discarded_at"),
    /** The object that was uploaded is removed; the one at the final key is another. */
    uploadRemoved: boolean("upload_removed").notNull().default(false),
  },
  (table) => [
    index("ticket_attachments_ticket_idx").on(table.ticketId, table.id),
    index("ticket_attachments_org_idx").on(table.orgId),
    index("ticket_attachments_message_idx").on(table.messageId),
    // Index of the rows that the sweeper still has to process.
    index("ticket_attachments_unswept_idx")
      .on(table.createdAt)
      .where(sql`not ${table.uploadRemoved} or ${table.messageId} is null`),
    check("ticket_attachments_author_type", sql`${table.authorType} in ('tenant', 'provider')`),
    check(
      "ticket_attachments_bound",
      sql`${table.messageId} is null or (${table.completedAt} is not null and ${table.discardedAt} is null)`,
    ),
    check(
      "ticket_attachments_internal",
      sql`not ${table.internal} or (${table.authorType} = 'provider' and ${table.messageId} is not null)`,
    ),
  ],
);

export type AttachmentRow = typeof ticketAttachments.$inferSelect;

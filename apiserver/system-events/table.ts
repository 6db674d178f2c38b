import { index, jsonb, pgTable, text, timestamp } from "drizzle-orm/pg-core";

/** The principal that a stream ticket authenticates, without what only its own credential can prove. */
export type StreamTicketHolder =
  | { kind: "user"; userId: string; issuer: string; expiresAtMs: number }
  | { kind: "token"; userId: string; tokenId: string; orgId: string; version: number; expiresAtMs: number };

/** Single-use tickets for clients that cannot send headers; a row is a ticket that was not used yet. */
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

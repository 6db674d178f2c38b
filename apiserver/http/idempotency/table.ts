import { index, integer, jsonb, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";

/**
 * One row per keyed request. The first attempt fixes id and object name; every later one reuses them. Of a push that the registry
 * has notified of, scope and key say that it is counted.
 */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    scope: text().notNull(),
    key: text().notNull(),
    /** Whose it is: the person, also for an API token. */
    userId: uuid("user_id"),
    bodyHash: text("body_hash").notNull(),
    id: uuid().notNull(),
    objectName: text("object_name"),
    leaseExpiresAt: timestamp("lease_expires_at", {
      withTimezone: true,
      mode: "date",
      precision: 3,
    }).notNull(),
    /** Null until the request has an outcome that is kept. */
    status: integer(),
    headers: jsonb().$type<Record<string, string>>(),
    body: text(),
    createdAt: timestamp("created_at", { withTimezone: true, mode: "date", precision: 3 })
      .notNull()
      .defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.scope, table.key] }),
    index("idempotency_keys_user_idx").on(table.userId),
    index("idempotency_keys_created_at_idx").on(table.createdAt),
  ],
);

import { sql } from "drizzle-orm";
import { check, index, integer, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import type { Role, Scope } from "../http/authorization/permissions.ts";
import { users } from "../members/table.ts";
import { organizations } from "../organizations/table.ts";

/** Tokens of organizations. Of a secret only its hash is kept; a revoked token stays for 30 days. */
export const apiTokens = pgTable(
  "api_tokens",
  {
    id: uuid().primaryKey(),
    orgId: uuid("org_id")
      .notNull()
      .references(() => organizations.id),
    name: text().notNull(),
    role: text().$type<Role>().notNull(),
    scopes: text().array().$type<Scope[]>().notNull(),
    /** SHA-256 of the whole token, in hexadecimal. */
    secretHash: text("secret_hash").notNull(),
    createdBy: uuid("created_by")
      .notNull()
      .references(() => users.id),
    createdAt: timestamp("created_at", { withTimezone: true, mode: "date", precision: 3 })
      .notNull()
      .defaultNow(),
    expiresAt: timestamp("expires_at", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
    /** Not later than a minute after the last use. */
    lastUsedAt: timestamp("last_used_at", { withTimezone: true, mode: "date", precision: 3 }),
    /** When the current secret was created, if it is not the first. */
    rotatedAt: timestamp("rotated_at", { withTimezone: true, mode: "date", precision: 3 }),
    revokedAt: timestamp("revoked_at", { withTimezone: true, mode: "date", precision: 3 }),
    /** Rises with every rotation; the record's entity tag. */
    version: integer().notNull().default(1),
  },
  (table) => [
    index("api_tokens_org_idx").on(table.orgId, table.id),
    index("api_tokens_revoked_idx").on(table.revokedAt).where(sql`${table.revokedAt} is not null`),
    check("api_tokens_role", sql`${table.role} in ('owner', 'admin', 'member', 'billing', 'viewer')`),
  ],
);

export type ApiTokenRow = typeof apiTokens.$inferSelect;

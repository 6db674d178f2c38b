import { sql } from "drizzle-orm";
import {
  check,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import type { GroupRole } from "../../http/authentication/issuer-config.ts";
import { organizations } from "../../organizations/table.ts";
import { users } from "../table.ts";

/** Who a mapping belongs to: the configuration of the API server, which starts write, or the platform's staff. */
export const MAPPING_MANAGERS = ["configuration", "staff"] as const;

/** What the people of a group of an issuer are in an organization. */
export const groupMappings = pgTable(
  "group_mappings",
  {
    id: uuid().primaryKey(),
    issuer: text().notNull(),
    group: text("group_name").notNull(),
    orgId: uuid("org_id")
      .notNull()
      .references(() => organizations.id),
    role: text().$type<GroupRole>().notNull(),
    managedBy: text("managed_by").$type<(typeof MAPPING_MANAGERS)[number]>().notNull(),
    createdAt: timestamp("created_at", { withTimezone: true, mode: "date", precision: 3 })
      .notNull()
      .defaultNow(),
    /** Rises with every change; the record's entity tag. */
    version: integer().notNull().default(1),
  },
  (table) => [
    uniqueIndex("group_mappings_group_key").on(table.issuer, table.group, table.orgId),
    index("group_mappings_org_idx").on(table.orgId),
    check("group_mappings_role", sql`${table.role} in ('admin', 'member', 'billing', 'viewer')`),
    check("group_mappings_managed_by", sql`${table.managedBy} in ('configuration', 'staff')`),
  ],
);

/** Until when a mapping makes a user a member: the last token that carried its group has said so. */
export const groupGrants = pgTable(
  "group_grants",
  {
    mappingId: uuid("mapping_id")
      .notNull()
      .references(() => groupMappings.id, { onDelete: "cascade" }),
    userId: uuid("user_id")
      .notNull()
      .references(() => users.id),
    orgId: uuid("org_id")
      .notNull()
      .references(() => organizations.id),
    expiresAt: timestamp("expires_at", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.mappingId, table.userId] }),
    index("group_grants_org_user_idx").on(table.orgId, table.userId),
    index("group_grants_user_idx").on(table.userId),
    index("group_grants_expiry_idx").on(table.expiresAt),
  ],
);

export type GroupMappingRow = typeof groupMappings.$inferSelect;

import { sql } from "drizzle-orm";
import {
  boolean,
  check,
  index,
  integer,
  pgTable,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import type { MemberSource, Role } from "../http/authorization/permissions.ts";
import { organizations } from "../organizations/table.ts";

/** How the ids of an issuer's users are made. It is kept when the configuration no longer names the issuer. */
export const issuers = pgTable("issuers", {
  url: text().primaryKey(),
  subjectClaim: text("subject_claim").notNull(),
  idNamespace: text("id_namespace").notNull(),
  uuidSubjects: boolean("uuid_subjects").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true, mode: "date", precision: 3 })
    .notNull()
    .defaultNow(),
});

/** People who have ever presented a valid token. An id belongs to the issuer that presented it first. */
export const users = pgTable("users", {
  id: uuid().primaryKey(),
  issuer: text().notNull(),
  email: text(),
  emailVerified: boolean("email_verified").notNull().default(false),
  createdAt: timestamp("created_at", { withTimezone: true, mode: "date", precision: 3 })
    .notNull()
    .defaultNow(),
  /** When the user last called an operation of the platform's staff, to the day; null: never. */
  staffSeenAt: timestamp("staff_seen_at", { withTimezone: true, mode: "date", precision: 3 }),
  /** How many organizations the platform's staff let the user have; null: the default of the configuration. */
  organizationQuota: integer("organization_quota"),
  /** Rises with every change of it; the entity tag of the quotas; 0: never set. */
  quotaVersion: integer("quota_version").notNull().default(0),
  quotaUpdatedAt: timestamp("quota_updated_at", { withTimezone: true, mode: "date", precision: 3 }),
});

export const members = pgTable(
  "members",
  {
    id: uuid().primaryKey(),
    orgId: uuid("org_id")
      .notNull()
      .references(() => organizations.id),
    /** Null until the invitation is bound to a person. */
    userId: uuid("user_id").references(() => users.id),
    email: text().notNull(),
    role: text().$type<Role>().notNull(),
    source: text().$type<MemberSource>().notNull().default("direct"),
    invitedBy: uuid("invited_by"),
    acceptedAt: timestamp("accepted_at", { withTimezone: true, mode: "date", precision: 3 }),
    /** When an invitation, or the role that a group gives, ends; null for a direct member. */
    expiresAt: timestamp("expires_at", { withTimezone: true, mode: "date", precision: 3 }),
    createdAt: timestamp("created_at", { withTimezone: true, mode: "date", precision: 3 })
      .notNull()
      .defaultNow(),
    /** Rises with every change; the record's entity tag. */
    version: integer().notNull().default(1),
  },
  (table) => [
    uniqueIndex("members_org_email_key")
      .on(table.orgId, sql`lower(${table.email})`)
      .where(sql`${table.source} = 'direct'`),
    uniqueIndex("members_org_user_key").on(table.orgId, table.userId),
    index("members_user_idx").on(table.userId, table.orgId),
    index("members_invited_email_idx").on(sql`lower(${table.email})`).where(sql`${table.userId} is null`),
    index("members_invited_by_idx").on(table.invitedBy).where(sql`${table.userId} is null`),
    index("members_group_expiry_idx").on(table.expiresAt).where(sql`${table.source} = 'group'`),
    check(
      "members_source",
      sql`${table.source} = 'direct' or (${table.source} = 'group' and ${table.role} <> 'owner'
        and ${table.userId} is not null and ${table.expiresAt} is not null)`,
    ),
    check("members_role", sql`${table.role} in ('owner', 'admin', 'member', 'billing', 'viewer')`),
  ],
);

export type MemberRow = typeof members.$inferSelect;

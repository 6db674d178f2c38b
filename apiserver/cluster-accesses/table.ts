import { sql } from "drizzle-orm";
import {
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
import { time } from "../db/columns.ts";
import type { Author } from "../http/authentication/principal.ts";
import { organizations } from "../organizations/table.ts";

/**
 * Kubeconfigs that have lost their ground and are not revoked yet: committed with the end of the membership or the
 * token, removed when the Kubernetes API has what revokes them. A row is about the accesses of a user, about those of
 * an API token, or about the admin kubeconfig of a cluster.
 */
export const kubeconfigRevocations = pgTable(
  "kubeconfig_revocations",
  {
    id: uuid().primaryKey(),
    orgId: uuid("org_id")
      .notNull()
      .references(() => organizations.id),
    userId: uuid("user_id"),
    tokenId: uuid("token_id"),
    /** The accesses that the token got under an earlier version than this one. */
    tokenVersion: integer("token_version"),
    clusterId: uuid("cluster_id"),
    /** The generation that its admin credentials are to have at least; null until it is decided. */
    generation: integer(),
    /** The membership whose end this is; null where a role or a token ended. */
    memberId: uuid("member_id"),
    /** The request that ended the right; the author of what is done about it. */
    author: jsonb("origin").$type<Author>().notNull(),
    createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
    /** When it may be claimed; while a process is working on it, when that claim ends. */
    dueAt: timestamp("lease_expires_at", { withTimezone: true }).notNull().defaultNow(),
    claimId: uuid("claim_id"),
  },
  (table) => [
    check(
      "kubeconfig_revocations_subject",
      sql`num_nonnulls(${table.userId}, ${table.tokenId}, ${table.clusterId}) = 1
        and num_nonnulls(${table.tokenId}, ${table.tokenVersion}) <> 1`,
    ),
    index("kubeconfig_revocations_lease_idx").on(table.dueAt),
    index("kubeconfig_revocations_org_idx").on(table.orgId, table.dueAt),
  ],
);

/** The ends of memberships, for 30 days and until nothing of them is pending. */
export const offboardings = pgTable(
  "offboardings",
  {
    memberId: uuid("member_id").primaryKey(),
    orgId: uuid("org_id")
      .notNull()
      .references(() => organizations.id),
    userId: uuid("user_id").notNull(),
    email: text().notNull(),
    removedAt: timestamp("removed_at", { withTimezone: true, mode: "date", precision: 3 })
      .notNull()
      .defaultNow(),
    /** When every right was seen to have ended. */
    completedAt: timestamp("completed_at", { withTimezone: true, mode: "date", precision: 3 }),
  },
  (table) => [
    index("offboardings_org_idx").on(table.orgId, table.memberId),
    index("offboardings_pending_idx").on(table.removedAt).where(sql`${table.completedAt} is null`),
  ],
);

export const RIGHT_KINDS = ["api_token", "cluster_access", "admin_credentials"] as const;

/** What a member had when the membership ended: one row a right. */
export const endedRights = pgTable(
  "ended_rights",
  {
    id: uuid().primaryKey(),
    orgId: uuid("org_id")
      .notNull()
      .references(() => organizations.id),
    memberId: uuid("member_id")
      .notNull()
      .references(() => offboardings.memberId, { onDelete: "cascade" }),
    kind: text().$type<(typeof RIGHT_KINDS)[number]>().notNull(),
    /** The API token or the access; of admin credentials the cluster. */
    targetId: uuid("target_id").notNull(),
    clusterId: uuid("cluster_id"),
    /** metadata of the ClusterAccess. */
    objectName: text("object_name"),
    objectUid: uuid("object_uid"),
    /** The generation of the admin credentials that ends the earlier ones; null until it is requested. */
    generation: integer(),
    requestedAt: timestamp("requested_at", { withTimezone: true, mode: "date", precision: 3 })
      .notNull()
      .defaultNow(),
    endedAt: timestamp("ended_at", { withTimezone: true, mode: "date", precision: 3 }),
  },
  (table) => [
    check("ended_rights_kind", sql`${table.kind} in ('api_token', 'cluster_access', 'admin_credentials')`),
    uniqueIndex("ended_rights_target_key").on(table.memberId, table.kind, table.targetId),
    index("ended_rights_org_idx").on(table.orgId, table.memberId, table.id),
    index("ended_rights_pending_idx").on(table.id).where(sql`${table.endedAt} is null`),
  ],
);

/**
 * The accesses that were seen in the Kubernetes API, by metadata.uid: what is seen again after a restart is neither a
 * new access nor a new end of one.
 */
export const observedAccesses = pgTable(
  "observed_accesses",
  {
    uid: uuid().primaryKey(),
    id: uuid().notNull(),
    orgId: uuid("org_id")
      .notNull()
      .references(() => organizations.id),
    namespace: text().notNull(),
    name: text().notNull(),
    clusterName: text("cluster_name").notNull(),
    subject: text().notNull(),
    expiresAt: timestamp("expires_at", { withTimezone: true }).notNull(),
    /** metadata.creationTimestamp; null for one that an earlier version has seen. */
    createdAt: time("created_at"),
    /** When its deletion was first seen. */
    endedAt: timestamp("ended_at", { withTimezone: true }),
  },
  (table) => [
    index("observed_accesses_live_idx").on(table.orgId, table.id).where(sql`${table.endedAt} is null`),
    index("observed_accesses_ended_idx").on(table.endedAt),
  ],
);

export type ObservedAccess = typeof observedAccesses.$inferSelect;
export type KubeconfigRevocation = typeof kubeconfigRevocations.$inferSelect;
export type Offboarding = typeof offboardings.$inferSelect;
export type EndedRight = typeof endedRights.$inferSelect;

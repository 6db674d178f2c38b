import { sql } from "drizzle-orm";
import { check, index, integer, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import type { Origin } from "../http/authentication/principal.ts";
import { organizations } from "../organizations/table.ts";

/**
 * Kubeconfigs that have lost their ground and are not revoked yet: committed with the end of the membership or the token,
 * removed when the Kubernetes API has what revokes them. A row is about the accesses of a user, about those of an API
 * token, or about the admin kubeconfig of a cluster.
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
    /** The request that ended the right; the author of what is done about it. */
    origin: jsonb().$type<Origin>().notNull(),
    createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
    /** Until then, one process is working on it. */
    leaseExpiresAt: timestamp("lease_expires_at", { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    check(
      "kubeconfig_revocations_subject",
      sql`num_nonnulls(${table.userId}, ${table.tokenId}, ${table.clusterId}) = 1
        and num_nonnulls(${table.tokenId}, ${table.tokenVersion}) <> 1`,
    ),
    index("kubeconfig_revocations_lease_idx").on(table.leaseExpiresAt),
    index("kubeconfig_revocations_org_idx").on(table.orgId, table.leaseExpiresAt),
  ],
);

/**
 * The accesses that were seen in the Kubernetes API, by metadata.uid: what is seen again after a restart is neither a new
 * access nor a new end of one.
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
    /** When its deletion was first seen. */
    endedAt: timestamp("ended_at", { withTimezone: true }),
  },
  (table) => [
    index("observed_accesses_live_idx").on(table.uid).where(sql`${table.endedAt} is null`),
    index("observed_accesses_ended_idx").on(table.endedAt),
  ],
);

export type ObservedAccess = typeof observedAccesses.$inferSelect;
export type KubeconfigRevocation = typeof kubeconfigRevocations.$inferSelect;

import { sql } from "drizzle-orm";
import { check, index, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import type { Origin } from "../../http/authentication/principal.ts";
import type { NewCluster } from "./new-cluster.ts";

/**
 * What a create is about to do, committed before the first object is written: ids, names and the whole request are
 * fixed here, so that a retry or the sweep completes exactly this create and never a second one.
 */
export const clusterIntents = pgTable(
  "cluster_intents",
  {
    clusterId: uuid("cluster_id").primaryKey(),
    orgId: uuid("org_id").notNull(),
    state: text({ enum: ["pending", "done", "abandoned"] }).notNull(),
    request: jsonb().$type<NewCluster>().notNull(),
    origin: jsonb().$type<Origin>().notNull(),
    startedAt: timestamp("started_at", { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    check("cluster_intents_state", sql`${table.state} in ('pending', 'done', 'abandoned')`),
    index("cluster_intents_pending_idx").on(table.startedAt).where(sql`${table.state} = 'pending'`),
  ],
);

export type ClusterIntent = typeof clusterIntents.$inferSelect;

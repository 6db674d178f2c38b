import { isNotNull, sql } from "drizzle-orm";
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
import type { KubeObject } from "../../shared/kube/kind.ts";
import type { AuditEntry } from "../audit/index.ts";
import type { Author } from "../http/authentication/principal.ts";

/**
 * Writes of custom resources that are about to be made, a row per object: each is committed before the object is written, under
 * the organization's row lock where it takes a name or a quota, and removed in the transaction that writes the object's
 * projection and audit row. Until then it is the reservation of the object's name and of its share of the quotas. A row that
 * stays was left by a crash or by a write whose outcome is unknown.
 */
export const writeIntents = pgTable(
  "write_intents",
  {
    id: uuid().primaryKey(),
    /** Joins the rows of one create: the id of the object that is written last. Of another write its own id. */
    groupId: uuid("group_id").notNull(),
    kind: text({ enum: ["Cluster", "NodePool", "ClusterAccess"] }).notNull(),
    verb: text({ enum: ["create", "change", "delete"] }).notNull(),
    orgId: uuid("org_id").notNull(),
    objectId: uuid("object_id").notNull(),
    /** Within which names are unique: the organization of a cluster, the cluster of anything else. The column has an older name. */
    parentId: uuid("scope").notNull(),
    /** The display name that the object takes, in lower case; `name` is metadata.name. */
    nameKey: text("name_key"),
    /**
     * What the object uses of the quotas after the write, not just what it grows by; an object that is also projected
     * counts once, with the greater amount.
     */
    clusters: integer().notNull(),
    nodePools: integer("node_pools").notNull(),
    nodes: integer().notNull(),
    vcpus: integer().notNull(),
    memoryGB: integer("memory_gb").notNull(),
    namespace: text().notNull(),
    name: text().notNull(),
    /** The uid of the object that is changed or deleted. */
    uid: uuid(),
    /** The version that the write builds on. */
    resourceVersion: text("resource_version"),
    requestId: text("request_id").notNull(),
    /** The request that made that version: a write that builds on it proves that it was made. */
    previousRequestId: text("previous_request_id"),
    /** The object to create: a repeated request creates just this one. */
    object: jsonb().$type<KubeObject>(),
    /** The column was named before the word "author" was. */
    author: jsonb("origin").$type<Author>().notNull(),
    /** The audit row to write; of a create its last object has it, with the result `failed` once the create is abandoned. */
    entry: jsonb().$type<AuditEntry>(),
    startedAt: timestamp("started_at", { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    check("write_intents_kind", sql`${table.kind} in ('Cluster', 'NodePool', 'ClusterAccess')`),
    check("write_intents_verb", sql`${table.verb} in ('create', 'change', 'delete')`),
    uniqueIndex("write_intents_name_key").on(table.parentId, table.nameKey).where(isNotNull(table.nameKey)),
    uniqueIndex("write_intents_create_key").on(table.objectId).where(sql`${table.verb} = 'create'`),
    index("write_intents_started_idx").on(table.startedAt),
    index("write_intents_object_idx").on(table.objectId),
    index("write_intents_group_idx").on(table.groupId),
    index("write_intents_org_idx").on(table.orgId),
  ],
);

export type WriteIntent = typeof writeIntents.$inferSelect;

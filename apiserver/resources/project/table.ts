import { isNotNull, isNull, sql } from "drizzle-orm";
import {
  bigint,
  check,
  index,
  integer,
  jsonb,
  type PgColumn,
  pgTable,
  pgView,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import type { Labels } from "../../../shared/crd/labels.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import type { AuditedState } from "./audited-state.ts";
import type { ClusterStatusName, ExternalWriter, NodePoolStatusName } from "./project.ts";

/**
 * Columns of both projections: the last observed custom resource (without managedFields) and what lists filter and
 * order by. The key is metadata.uid; a deleted object stays as a tombstone, so that a late observation cannot restore it.
 */
const projectionColumns = <Status extends string>() => ({
  uid: uuid().primaryKey(),
  id: uuid().notNull(),
  orgId: uuid("org_id").notNull(),
  namespace: text().notNull(),
  name: text().notNull(),
  displayName: text("display_name").notNull(),
  /** Written only by the projection, from the phase (`clusterStatusOf` and `nodePoolStatusOf` in project.ts). */
  status: text().$type<Status>().notNull(),
  resourceVersion: bigint("resource_version", { mode: "bigint" }).notNull(),
  updatedAt: timestamp("updated_at", { withTimezone: true }).notNull(),
  /** The column has an older name. */
  externalWriters: jsonb("outside_writers").$type<ExternalWriter[]>().notNull().default([]),
  /** Those of its owner, in a column of their own so that a selector reads no object; null: none are set. */
  labels: jsonb().$type<Labels>().generatedAlwaysAs(sql`object -> 'spec' -> 'labels'`),
  deletedAt: timestamp("deleted_at", { withTimezone: true }),
});

/** Whether an object has an end date: indexed, for few have one. */
export const hasEnd = ({ object }: { object: PgColumn }) =>
  sql`(${object} -> 'spec' -> 'expiresAt') is not null`;

export const projectedClusters = pgTable(
  "projected_clusters",
  {
    ...projectionColumns<ClusterStatusName>(),
    networkUpdatedAt: timestamp("network_updated_at", { withTimezone: true }).notNull(),
    object: jsonb().$type<Cluster>().notNull(),
  },
  (table) => [
    uniqueIndex("projected_clusters_id_key").on(table.id).where(sql`${table.deletedAt} is null`),
    uniqueIndex("projected_clusters_object_key")
      .on(table.namespace, table.name)
      .where(sql`${table.deletedAt} is null`),
    index("projected_clusters_org_idx").on(table.orgId, table.id).where(sql`${table.deletedAt} is null`),
    index("projected_clusters_end_idx")
      .on(table.id)
      .where(sql`${table.deletedAt} is null and ${hasEnd(table)}`),
    // With the tombstones: what was used is grouped by the labels of deleted objects too.
    index("projected_clusters_labels_idx").on(table.orgId).where(isNotNull(table.labels)),
  ],
);

export const projectedNodePools = pgTable(
  "projected_node_pools",
  {
    ...projectionColumns<NodePoolStatusName>(),
    clusterId: uuid("cluster_id").notNull(),
    object: jsonb().$type<NodePool>().notNull(),
    /** What quotas count of it, as columns so that a sum reads no object. */
    quotaNodes: integer("quota_nodes").notNull(),
    quotaVcpus: integer("quota_vcpus").notNull(),
    quotaMemoryGB: integer("quota_memory_gb").notNull(),
  },
  (table) => [
    index("projected_node_pools_org_idx").on(table.orgId).where(sql`${table.deletedAt} is null`),
    index("projected_node_pools_end_idx")
      .on(table.id)
      .where(sql`${table.deletedAt} is null and ${hasEnd(table)}`),
    index("projected_node_pools_labels_idx").on(table.orgId).where(isNotNull(table.labels)),
    uniqueIndex("projected_node_pools_id_key").on(table.id).where(sql`${table.deletedAt} is null`),
    // Every new object looks for one that it replaces: without this index a rebuild scans the table each time.
    uniqueIndex("projected_node_pools_object_key")
      .on(table.namespace, table.name)
      .where(sql`${table.deletedAt} is null`),
    index("projected_node_pools_cluster_idx")
      .on(table.clusterId, table.id)
      .where(sql`${table.deletedAt} is null`),
  ],
);

const recordColumns = () => ({
  id: uuid().notNull(),
  orgId: uuid("org_id").notNull(),
  namespace: text().notNull(),
  objectName: text("object_name").notNull(),
  name: text().notNull(),
  /** The name in lower case: an object that is not deleted has it in its organization, a pool in its cluster. */
  nameKey: text("name_key").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
  deletedAt: timestamp("deleted_at", { withTimezone: true }),
});

/**
 * The permanent record of a cluster or a node pool: tickets, usage, events and invoices refer to it. It is written here
 * and read by the views of the kinds.
 */
export const objectRecords = pgTable(
  "object_records",
  {
    ...recordColumns(),
    id: uuid().primaryKey(),
    /** The cluster of a node pool; null for a cluster. */
    clusterId: uuid("cluster_id"),
  },
  (table) => [
    index("object_records_org_idx").on(table.orgId, table.id).where(isNull(table.clusterId)),
    index("object_records_cluster_idx").on(table.clusterId, table.id).where(isNotNull(table.clusterId)),
    index("object_records_cluster_name_idx")
      .on(table.orgId, table.nameKey)
      .where(sql`${table.clusterId} is null and ${table.deletedAt} is null`),
    index("object_records_pool_name_idx")
      .on(table.clusterId, table.nameKey)
      .where(sql`${table.clusterId} is not null and ${table.deletedAt} is null`),
  ],
);

export const clusterRecords = pgView("cluster_records", recordColumns()).as(
  sql`select id, org_id, namespace, object_name, name, name_key, created_at, deleted_at
    from ${objectRecords} where cluster_id is null`,
);

export const nodePoolRecords = pgView("node_pool_records", {
  ...recordColumns(),
  clusterId: uuid("cluster_id").notNull(),
}).as(
  sql`select id, org_id, namespace, object_name, name, name_key, created_at, deleted_at, cluster_id
    from ${objectRecords} where cluster_id is not null`,
);

/** The durable log of transitions of clusters and node pools; each one once, whichever process observed it first. */
export const transitions = pgTable(
  "transitions",
  {
    id: bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
    objectKind: text("object_kind", { enum: ["cluster", "node_pool"] }).notNull(),
    objectId: uuid("object_id").notNull(),
    orgId: uuid("org_id").notNull(),
    clusterId: uuid("cluster_id").notNull(),
    type: text().notNull(),
    at: timestamp({ withTimezone: true }).notNull(),
    sequence: integer(),
    details: jsonb().$type<Record<string, string>>().notNull(),
    recordedAt: timestamp("recorded_at", { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    check("transitions_object_kind", sql`${table.objectKind} in ('cluster', 'node_pool')`),
    uniqueIndex("transitions_once_key").on(table.objectId, table.type, table.at),
    uniqueIndex("transitions_lifetime_key")
      .on(table.objectId, table.type)
      .where(sql`${table.type} in ('created', 'ready', 'deleted')`),
  ],
);

/** The version of each object that was last compared for the audit log, by metadata.uid. */
export const auditedVersions = pgTable("audited_versions", {
  uid: uuid().primaryKey(),
  state: jsonb().$type<AuditedState>().notNull(),
});

/** The periods in which the projection followed the Kubernetes API without a gap; the table has an older name. */
export const syncPeriods = pgTable(
  "projection_watches",
  {
    id: uuid().primaryKey(),
    startedAt: timestamp("started_at", { withTimezone: true, precision: 3 }).notNull(),
    /** Everything that existed then was projected. */
    seenAt: timestamp("seen_at", { withTimezone: true, precision: 3 }).notNull(),
  },
  (table) => [index("projection_watches_seen_idx").on(table.seenAt)],
);

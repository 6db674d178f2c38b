import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import type { MeteredType } from "../resource-types.ts";
import type { EvidenceKind, EvidenceSample } from "./evidence.ts";

/**
 * What the platform saw of each use: the source that the intervals are made from, in the order of `sequence`, in which
 * rows also become visible, for one transaction at a time adds some. Append-only; the API server's role can neither
 * change nor remove a row.
 */
export const usageEvidence = pgTable(
  "usage_evidence",
  {
    id: uuid().primaryKey(),
    sequence: bigint({ mode: "number" }).notNull().generatedAlwaysAsIdentity(),
    organizationId: uuid("organization_id").notNull(),
    kind: text().$type<EvidenceKind>().notNull(),
    /** What is metered: the uid of a machine, else the id of the cluster or of the organization. */
    subject: text().notNull(),
    /** metadata.uid of the object in which it was seen. */
    objectUid: text("object_uid").notNull(),
    sample: jsonb().$type<EvidenceSample>().notNull(),
    observedAt: timestamp("observed_at", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
  },
  (table) => [uniqueIndex("usage_evidence_sequence_key").on(table.sequence)],
);

/** The version of each Cluster and NodePool that was last checked for the ledger; the key is metadata.uid. */
export const usageSources = pgTable("usage_sources", {
  uid: uuid().primaryKey(),
  resourceVersion: bigint("resource_version", { mode: "bigint" }).notNull(),
  isDeleted: boolean("is_deleted").notNull(),
});

/** The time of the newest figure of each subject that was checked for the ledger. */
export const usageFigures = pgTable(
  "usage_figures",
  {
    kind: text().$type<EvidenceKind>().notNull(),
    subject: text().notNull(),
    measuredAt: timestamp("measured_at", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.kind, table.subject] })],
);

/** The one row of when everything that existed had been seen and was in the ledger. */
export const usageRounds = pgTable(
  "usage_rounds",
  {
    id: integer().primaryKey().default(1),
    seenAt: timestamp("seen_at", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
  },
  (table) => [check("usage_rounds_one_row", sql`${table.id} = 1`)],
);

/**
 * The ledger of usage. Append-only: the end of a row that is still running is set once, a trigger refuses every other
 * change, and a correction is another row with a negative quantity. Rows of one subject and resource type do not
 * overlap.
 */
export const usageIntervals = pgTable(
  "usage_intervals",
  {
    id: uuid().primaryKey(),
    organizationId: uuid("organization_id").notNull(),
    clusterId: uuid("cluster_id"),
    clusterName: text("cluster_name"),
    nodePoolId: uuid("node_pool_id"),
    /** As in the evidence. */
    subject: text().notNull(),
    resourceType: text("resource_type").$type<MeteredType>().notNull(),
    /** In the units of UsageInterval. */
    quantity: numeric({ precision: 20, scale: 0, mode: "bigint" }).notNull(),
    startedAt: timestamp("started_at", { withTimezone: true, mode: "date", precision: 0 }).notNull(),
    endedAt: timestamp("ended_at", { withTimezone: true, mode: "date", precision: 0 }),
    correctionOf: uuid("correction_of"),
    /** What it began with, or what it is a correction for. */
    evidenceId: uuid("evidence_id")
      .notNull()
      .references(() => usageEvidence.id),
  },
  (table) => [
    foreignKey({ columns: [table.correctionOf], foreignColumns: [table.id] }),
    uniqueIndex("usage_intervals_running_key")
      .on(table.subject, table.resourceType)
      .where(sql`${table.endedAt} is null`),
    index("usage_intervals_subject_idx").on(table.subject, table.resourceType),
    index("usage_intervals_pool_idx").on(table.nodePoolId).where(sql`${table.endedAt} is null`),
    index("usage_intervals_organization_idx").on(
      table.organizationId,
      sql`coalesce(${table.endedAt}, 'infinity'::timestamptz)`,
    ),
    check("usage_intervals_order", sql`${table.endedAt} >= ${table.startedAt}`),
    check(
      "usage_intervals_correction",
      sql`case when ${table.correctionOf} is null then ${table.quantity} > 0
        else ${table.quantity} < 0 and ${table.endedAt} is not null end`,
    ),
  ],
);

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
import type { Labels } from "../../shared/crd/labels.ts";
import { time } from "../db/columns.ts";

export const organizations = pgTable(
  "organizations",
  {
    id: uuid().primaryKey(),
    name: text().notNull(),
    slug: text().notNull(),
    billingEmail: text("billing_email"),
    vatId: text("vat_id"),
    /** What its people gave it; at most MAX_LABELS. */
    labels: jsonb().$type<Labels>().notNull().default({}),
    /** The user whose quota it counts in. */
    createdBy: uuid("created_by"),
    plan: text().notNull().default("starter"),
    /** Rises with every change of a setting; the record's entity tag. */
    version: integer().notNull().default(1),
    createdAt: timestamp("created_at", { withTimezone: true, mode: "date", precision: 3 })
      .notNull()
      .defaultNow(),
    updatedAt: timestamp("updated_at", { withTimezone: true, mode: "date", precision: 3 })
      .notNull()
      .defaultNow(),
    /** Set under the row's lock when deletion begins; creates inside the organization are refused afterwards. */
    deletingAt: timestamp("deleting_at", { withTimezone: true, mode: "date", precision: 3 }),
    deletedAt: timestamp("deleted_at", { withTimezone: true, mode: "date", precision: 3 }),
    /** When the Namespace was last seen to be there; null asks the job to make it. */
    namespaceReadyAt: timestamp("namespace_ready_at", { withTimezone: true, mode: "date", precision: 3 }),
    /** The quotas that the platform's staff set; null: the default of the configuration. */
    quotaClusters: integer("quota_clusters"),
    quotaNodePools: integer("quota_node_pools"),
    quotaNodes: integer("quota_nodes"),
    quotaVcpus: integer("quota_vcpus"),
    quotaMemoryGB: integer("quota_memory_gb"),
    /** Rises with every change of these; the entity tag of the quotas; 0: never set. */
    quotaVersion: integer("quota_version").notNull().default(0),
    quotasUpdatedAt: time("quotas_updated_at"),
    /** The quota of the shared storage, which is another record. */
    storageQuotaGB: integer("storage_quota_gb"),
    storageQuotaVersion: integer("storage_quota_version").notNull().default(0),
    storageQuotaUpdatedAt: time("storage_quota_updated_at"),
    /** Whom invoices are for, besides `vatId` and `billingEmail`: the legal name and the address. */
    billingName: text("billing_name"),
    street: text(),
    postalCode: text("postal_code"),
    city: text(),
    /** ISO 3166-1 alpha-2. */
    country: text(),
    /** A tax number that is no VAT id. */
    taxNumber: text("tax_number"),
    /** What the customer wants to see on its invoices, and the number of its purchase order. */
    buyerReference: text("buyer_reference"),
    purchaseOrder: text("purchase_order"),
  },
  (table) => [
    uniqueIndex("organizations_slug_key").on(table.slug).where(sql`${table.deletedAt} is null`),
    index("organizations_creator_idx").on(table.createdBy).where(sql`${table.deletedAt} is null`),
    check("organizations_name_length", sql`char_length(${table.name}) between 1 and 100`),
    check("organizations_storage_quota", sql`${table.storageQuotaGB} between 1 and 10240`),
    check("organizations_country", sql`${table.country} ~ '^[A-Z]{2}$'`),
  ],
);

const { id, name, slug, billingEmail, vatId, labels, plan, version, createdAt, updatedAt } = organizations;

/** The columns of the organization's own record: what else is in the row is read by those who need it. */
export const organizationColumns = {
  id,
  name,
  slug,
  billingEmail,
  vatId,
  labels,
  plan,
  version,
  createdAt,
  updatedAt,
};

export type OrganizationRow = Pick<typeof organizations.$inferSelect, keyof typeof organizationColumns>;

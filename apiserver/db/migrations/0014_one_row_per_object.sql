-- The tables that this replaces are views from here on for programs of the version before, which run beside this one
-- during an upgrade and after a rollback. A migration of a later version drops the views, but for those of records,
-- which this version reads. Those that the version before has left for the one before it are dropped here.

-- Programs lock an organization first: one that has its lock ends while this waits. Where one has another of these
-- tables and waits for an organization, the lock_timeout ends this attempt, and the migration program makes another.
LOCK TABLE "organizations", "users", "invoices", "billing_profiles", "cluster_records", "invoice_daily_costs",
  "node_pool_records", "organization_quotas", "user_quotas" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
DROP VIEW "invoice_sequences", "credit_note_sequences", "registry_push_grants", "registry_scan_turns", "storage_quotas";--> statement-breakpoint
CREATE TABLE "object_records" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"namespace" text NOT NULL,
	"object_name" text NOT NULL,
	"name" text NOT NULL,
	"name_key" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"deleted_at" timestamp with time zone,
	"cluster_id" uuid
);
--> statement-breakpoint
ALTER TABLE "invoices" ADD COLUMN "daily_costs" jsonb;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "organization_quota" integer;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "quota_version" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "quota_updated_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "quota_clusters" integer;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "quota_node_pools" integer;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "quota_nodes" integer;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "quota_vcpus" integer;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "quota_memory_gb" integer;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "quota_version" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "quotas_updated_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "storage_quota_gb" integer;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "storage_quota_version" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "storage_quota_updated_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "billing_name" text;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "street" text;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "postal_code" text;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "city" text;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "country" text;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "tax_number" text;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "buyer_reference" text;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "purchase_order" text;--> statement-breakpoint
CREATE INDEX "object_records_org_idx" ON "object_records" USING btree ("org_id","id") WHERE "object_records"."cluster_id" is null;--> statement-breakpoint
CREATE INDEX "object_records_cluster_idx" ON "object_records" USING btree ("cluster_id","id") WHERE "object_records"."cluster_id" is not null;--> statement-breakpoint
CREATE INDEX "object_records_cluster_name_idx" ON "object_records" USING btree ("org_id","name_key") WHERE "object_records"."cluster_id" is null and "object_records"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "object_records_pool_name_idx" ON "object_records" USING btree ("cluster_id","name_key") WHERE "object_records"."cluster_id" is not null and "object_records"."deleted_at" is null;--> statement-breakpoint
ALTER TABLE "organizations" ADD CONSTRAINT "organizations_storage_quota" CHECK ("organizations"."storage_quota_gb" between 1 and 10240);--> statement-breakpoint
ALTER TABLE "organizations" ADD CONSTRAINT "organizations_country" CHECK ("organizations"."country" ~ '^[A-Z]{2}$');--> statement-breakpoint
DO $$
DECLARE
  ids text;
BEGIN
  SELECT string_agg("id"::text, ', ') INTO ids
    FROM (SELECT "id" FROM "node_pool_records" JOIN "cluster_records" USING ("id") ORDER BY "id" LIMIT 10) AS both_kinds;
  IF ids IS NOT NULL THEN
    RAISE EXCEPTION 'cluster_records and node_pool_records both have these ids; remove one of the two rows of each: %', ids;
  END IF;
END
$$;--> statement-breakpoint
INSERT INTO "object_records" ("id", "org_id", "namespace", "object_name", "name", "name_key", "created_at", "deleted_at")
  SELECT "id", "org_id", "namespace", "object_name", "name", "name_key", "created_at", "deleted_at" FROM "cluster_records";--> statement-breakpoint
INSERT INTO "object_records" ("id", "org_id", "namespace", "object_name", "name", "name_key", "created_at", "deleted_at", "cluster_id")
  SELECT "id", "org_id", "namespace", "object_name", "name", "name_key", "created_at", "deleted_at", "cluster_id" FROM "node_pool_records";--> statement-breakpoint
UPDATE "organizations" SET "quota_clusters" = "clusters", "quota_node_pools" = "node_pools", "quota_nodes" = "nodes",
    "quota_vcpus" = "vcpus", "quota_memory_gb" = "memory_gb", "quota_version" = quota."version", "quotas_updated_at" = quota."updated_at",
    "storage_quota_gb" = "storage_gb", "storage_quota_version" = "storage_version", "storage_quota_updated_at" = "storage_updated_at"
  FROM "organization_quotas" AS quota WHERE "id" = "org_id";--> statement-breakpoint
UPDATE "organizations" SET "billing_name" = profile."name", "street" = profile."street", "postal_code" = profile."postal_code",
    "city" = profile."city", "country" = profile."country", "tax_number" = profile."tax_number",
    "buyer_reference" = profile."buyer_reference", "purchase_order" = profile."purchase_order"
  FROM "billing_profiles" AS profile WHERE "id" = "org_id";--> statement-breakpoint
UPDATE "users" SET "organization_quota" = "organizations", "quota_version" = "version", "quota_updated_at" = "updated_at"
  FROM "user_quotas" WHERE "id" = "user_id";--> statement-breakpoint
UPDATE "invoices" SET "daily_costs" = "days" FROM "invoice_daily_costs" WHERE "id" = "invoice_id";--> statement-breakpoint
ALTER TABLE "billing_profiles" RENAME TO "billing_profiles_before";--> statement-breakpoint
ALTER TABLE "cluster_records" RENAME TO "cluster_records_before";--> statement-breakpoint
ALTER TABLE "invoice_daily_costs" RENAME TO "invoice_daily_costs_before";--> statement-breakpoint
ALTER TABLE "node_pool_records" RENAME TO "node_pool_records_before";--> statement-breakpoint
ALTER TABLE "organization_quotas" RENAME TO "organization_quotas_before";--> statement-breakpoint
ALTER TABLE "user_quotas" RENAME TO "user_quotas_before";--> statement-breakpoint
-- "xmax" is what the version before asks for to know whether it has inserted a row.
CREATE VIEW "cluster_records" AS SELECT "id", "org_id", "namespace", "object_name", "name", "name_key", "created_at", "deleted_at", "xmax"
  FROM "object_records" WHERE "cluster_id" IS NULL;--> statement-breakpoint
CREATE VIEW "node_pool_records" AS
  SELECT "id", "org_id", "namespace", "object_name", "name", "name_key", "created_at", "deleted_at", "cluster_id", "xmax"
  FROM "object_records" WHERE "cluster_id" IS NOT NULL;--> statement-breakpoint
-- The version before inserts a row or updates the one that is there. Here it is always there: the columns with a
-- default are what Postgres asks of a row before it finds that.
CREATE VIEW "organization_quotas" AS SELECT "id" AS "org_id", "quota_clusters" AS "clusters", "quota_node_pools" AS "node_pools",
  "quota_nodes" AS "nodes", "quota_vcpus" AS "vcpus", "quota_memory_gb" AS "memory_gb", "quota_version" AS "version",
  "quotas_updated_at" AS "updated_at", "storage_quota_gb" AS "storage_gb", "storage_quota_version" AS "storage_version",
  "storage_quota_updated_at" AS "storage_updated_at", "name", "slug" FROM "organizations";--> statement-breakpoint
ALTER VIEW "organization_quotas" ALTER COLUMN "name" SET DEFAULT '-';--> statement-breakpoint
ALTER VIEW "organization_quotas" ALTER COLUMN "slug" SET DEFAULT '-';--> statement-breakpoint
CREATE VIEW "billing_profiles" AS SELECT "id" AS "org_id", "billing_name" AS "name", "street", "postal_code", "city", "country", "tax_number",
  "buyer_reference", "purchase_order", "updated_at", "name" AS "organization_name", "slug" FROM "organizations";--> statement-breakpoint
ALTER VIEW "billing_profiles" ALTER COLUMN "organization_name" SET DEFAULT '-';--> statement-breakpoint
ALTER VIEW "billing_profiles" ALTER COLUMN "slug" SET DEFAULT '-';--> statement-breakpoint
CREATE VIEW "user_quotas" AS SELECT "id" AS "user_id", "organization_quota" AS "organizations", "quota_version" AS "version",
  "quota_updated_at" AS "updated_at", "issuer" FROM "users";--> statement-breakpoint
ALTER VIEW "user_quotas" ALTER COLUMN "issuer" SET DEFAULT '-';--> statement-breakpoint
-- The API server's role has no right to change an invoice: by the offset no row of the view can be changed, and only
-- the trigger adds to an invoice.
CREATE VIEW "invoice_daily_costs" AS SELECT "id" AS "invoice_id", "daily_costs" AS "days" FROM "invoices"
  WHERE "daily_costs" IS NOT NULL OFFSET 0;--> statement-breakpoint
CREATE FUNCTION "invoice_daily_costs_add"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE public."invoices" SET "daily_costs" = NEW."days" WHERE "id" = NEW."invoice_id" AND "daily_costs" IS NULL;
  RETURN NEW;
END
$$;--> statement-breakpoint
CREATE TRIGGER "invoice_daily_costs_add" INSTEAD OF INSERT ON "invoice_daily_costs"
  FOR EACH ROW EXECUTE FUNCTION "invoice_daily_costs_add"();--> statement-breakpoint
-- The webhooks of an organization that get an event of this type, as the transaction that causes it sees them; null
-- for none.
CREATE FUNCTION "subscribed_webhooks"(organization uuid, event_type text) RETURNS uuid[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT array_agg("id" ORDER BY "id") FROM "webhooks"
    WHERE "org_id" = organization AND "enabled" AND "deleted_at" IS NULL AND "events" && ARRAY[event_type, '*']);
END
$$;--> statement-breakpoint
-- In this transaction, so that the views are never without the rights of their tables.
DO $$
DECLARE
  granted record;
BEGIN
  FOR granted IN
    SELECT copies.name, acl.privilege_type,
      CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END AS grantee
    FROM (VALUES
      ('billing_profiles', 'billing_profiles_before'),
      ('cluster_records', 'cluster_records_before'),
      ('invoice_daily_costs', 'invoice_daily_costs_before'),
      ('node_pool_records', 'node_pool_records_before'),
      ('organization_quotas', 'organization_quotas_before'),
      ('user_quotas', 'user_quotas_before'),
      ('object_records', 'cluster_records_before')
    ) AS copies (name, source)
    JOIN pg_class ON pg_class.oid = copies.source::regclass
    CROSS JOIN aclexplode(pg_class.relacl) AS acl
    WHERE acl.grantee <> pg_class.relowner
  LOOP
    EXECUTE format('GRANT %s ON %I TO %s', granted.privilege_type, granted.name, granted.grantee);
  END LOOP;
END
$$;--> statement-breakpoint
DROP TABLE "billing_profiles_before", "cluster_records_before", "invoice_daily_costs_before", "node_pool_records_before", "organization_quotas_before", "user_quotas_before";

ALTER TABLE "cluster_records" ADD COLUMN "name_key" text;--> statement-breakpoint
ALTER TABLE "node_pool_records" ADD COLUMN "name_key" text;--> statement-breakpoint
-- An object that has its name keeps it as it was compared; another one is compared again when it is next renamed.
UPDATE "cluster_records" AS record SET "name_key" = coalesce(
  (SELECT held."name_key" FROM "name_reservations" AS held WHERE held."object_id" = record."id" AND held."leased_until" IS NULL LIMIT 1),
  lower(record."name"));--> statement-breakpoint
ALTER TABLE "cluster_records" ALTER COLUMN "name_key" SET NOT NULL;--> statement-breakpoint
-- An object that has its name keeps it as it was compared; another one is compared again when it is next renamed.
UPDATE "node_pool_records" AS record SET "name_key" = coalesce(
  (SELECT held."name_key" FROM "name_reservations" AS held WHERE held."object_id" = record."id" AND held."leased_until" IS NULL LIMIT 1),
  lower(record."name"));--> statement-breakpoint
ALTER TABLE "node_pool_records" ALTER COLUMN "name_key" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "write_intents" ADD COLUMN "group_id" uuid;--> statement-breakpoint
ALTER TABLE "write_intents" ADD COLUMN "org_id" uuid;--> statement-breakpoint
ALTER TABLE "write_intents" ADD COLUMN "object_id" uuid;--> statement-breakpoint
ALTER TABLE "write_intents" ADD COLUMN "scope" uuid;--> statement-breakpoint
ALTER TABLE "write_intents" ADD COLUMN "name_key" text;--> statement-breakpoint
ALTER TABLE "write_intents" ADD COLUMN "clusters" integer;--> statement-breakpoint
ALTER TABLE "write_intents" ADD COLUMN "node_pools" integer;--> statement-breakpoint
ALTER TABLE "write_intents" ADD COLUMN "nodes" integer;--> statement-breakpoint
ALTER TABLE "write_intents" ADD COLUMN "vcpus" integer;--> statement-breakpoint
ALTER TABLE "write_intents" ADD COLUMN "memory_gb" integer;--> statement-breakpoint
ALTER TABLE "write_intents" ADD COLUMN "object" jsonb;--> statement-breakpoint
-- A create that was left pending by an earlier version cannot be completed by this one.
DELETE FROM "write_intents" WHERE "verb" = 'create';--> statement-breakpoint
UPDATE "write_intents" AS intent SET "group_id" = intent."id", "org_id" = (intent."entry" ->> 'orgId')::uuid,
  "object_id" = (intent."entry" -> 'target' ->> 'id')::uuid,
  "scope" = coalesce(
    (SELECT pool."cluster_id" FROM "node_pool_records" AS pool WHERE pool."id" = (intent."entry" -> 'target' ->> 'id')::uuid),
    (intent."entry" ->> 'orgId')::uuid),
  "clusters" = 0, "node_pools" = 0, "nodes" = 0, "vcpus" = 0, "memory_gb" = 0;--> statement-breakpoint
ALTER TABLE "write_intents" ALTER COLUMN "group_id" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "write_intents" ALTER COLUMN "org_id" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "write_intents" ALTER COLUMN "object_id" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "write_intents" ALTER COLUMN "scope" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "write_intents" ALTER COLUMN "clusters" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "write_intents" ALTER COLUMN "node_pools" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "write_intents" ALTER COLUMN "nodes" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "write_intents" ALTER COLUMN "vcpus" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "write_intents" ALTER COLUMN "memory_gb" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "write_intents" ALTER COLUMN "entry" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "projected_node_pools" ALTER COLUMN "quota_nodes" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "projected_node_pools" ALTER COLUMN "quota_nodes" DROP EXPRESSION;--> statement-breakpoint
ALTER TABLE "projected_node_pools" ALTER COLUMN "quota_vcpus" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "projected_node_pools" ALTER COLUMN "quota_vcpus" DROP EXPRESSION;--> statement-breakpoint
ALTER TABLE "projected_node_pools" ALTER COLUMN "quota_memory_gb" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "projected_node_pools" ALTER COLUMN "quota_memory_gb" DROP EXPRESSION;--> statement-breakpoint
DROP INDEX "write_intents_uid_idx";--> statement-breakpoint
CREATE INDEX "cluster_records_name_idx" ON "cluster_records" USING btree ("org_id","name_key") WHERE "cluster_records"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "node_pool_records_name_idx" ON "node_pool_records" USING btree ("cluster_id","name_key") WHERE "node_pool_records"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "write_intents_name_key" ON "write_intents" USING btree ("scope","name_key") WHERE "write_intents"."name_key" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "write_intents_create_key" ON "write_intents" USING btree ("object_id") WHERE "write_intents"."verb" = 'create';--> statement-breakpoint
CREATE INDEX "write_intents_object_idx" ON "write_intents" USING btree ("object_id");--> statement-breakpoint
CREATE INDEX "write_intents_group_idx" ON "write_intents" USING btree ("group_id");--> statement-breakpoint
CREATE INDEX "write_intents_org_idx" ON "write_intents" USING btree ("org_id");--> statement-breakpoint
DROP TABLE "cluster_intents" CASCADE;--> statement-breakpoint
DROP TABLE "quota_reservations" CASCADE;--> statement-breakpoint
DROP TABLE "name_reservations" CASCADE;--> statement-breakpoint
ANALYZE "cluster_records", "node_pool_records";

CREATE TABLE "organization_quotas" (
	"org_id" uuid PRIMARY KEY NOT NULL,
	"clusters" integer,
	"node_pools" integer,
	"nodes" integer,
	"vcpus" integer,
	"memory_gb" integer,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "quota_reservations" (
	"id" uuid NOT NULL,
	"object_id" uuid NOT NULL,
	"org_id" uuid NOT NULL,
	"clusters" integer NOT NULL,
	"node_pools" integer NOT NULL,
	"nodes" integer NOT NULL,
	"vcpus" integer NOT NULL,
	"memory_gb" integer NOT NULL,
	"leased_until" timestamp with time zone NOT NULL,
	CONSTRAINT "quota_reservations_id_object_id_pk" PRIMARY KEY("id","object_id")
);
--> statement-breakpoint
ALTER TABLE "projected_node_pools" ADD COLUMN "quota_nodes" integer GENERATED ALWAYS AS (case
  when coalesce(((object -> 'spec' ->> 'maxVCPUs')::int), 0) > coalesce(((object -> 'spec' ->> 'minVCPUs')::int), 0) or coalesce(((object -> 'spec' ->> 'maxMemoryGB')::int), 0) > coalesce(((object -> 'spec' ->> 'minMemoryGB')::int), 0)
  then least(1000, ((object -> 'spec' ->> 'maxVCPUs')::int) / ((object -> 'spec' ->> 'vcpus')::int), ((object -> 'spec' ->> 'maxMemoryGB')::int) / ((object -> 'spec' ->> 'memoryGB')::int))
  else ((object -> 'spec' ->> 'desiredNodes')::int) end) STORED;--> statement-breakpoint
ALTER TABLE "projected_node_pools" ADD COLUMN "quota_vcpus" integer GENERATED ALWAYS AS ((case
  when coalesce(((object -> 'spec' ->> 'maxVCPUs')::int), 0) > coalesce(((object -> 'spec' ->> 'minVCPUs')::int), 0) or coalesce(((object -> 'spec' ->> 'maxMemoryGB')::int), 0) > coalesce(((object -> 'spec' ->> 'minMemoryGB')::int), 0)
  then least(1000, ((object -> 'spec' ->> 'maxVCPUs')::int) / ((object -> 'spec' ->> 'vcpus')::int), ((object -> 'spec' ->> 'maxMemoryGB')::int) / ((object -> 'spec' ->> 'memoryGB')::int))
  else ((object -> 'spec' ->> 'desiredNodes')::int) end) * ((object -> 'spec' ->> 'vcpus')::int)) STORED;--> statement-breakpoint
ALTER TABLE "projected_node_pools" ADD COLUMN "quota_memory_gb" integer GENERATED ALWAYS AS ((case
  when coalesce(((object -> 'spec' ->> 'maxVCPUs')::int), 0) > coalesce(((object -> 'spec' ->> 'minVCPUs')::int), 0) or coalesce(((object -> 'spec' ->> 'maxMemoryGB')::int), 0) > coalesce(((object -> 'spec' ->> 'minMemoryGB')::int), 0)
  then least(1000, ((object -> 'spec' ->> 'maxVCPUs')::int) / ((object -> 'spec' ->> 'vcpus')::int), ((object -> 'spec' ->> 'maxMemoryGB')::int) / ((object -> 'spec' ->> 'memoryGB')::int))
  else ((object -> 'spec' ->> 'desiredNodes')::int) end) * ((object -> 'spec' ->> 'memoryGB')::int)) STORED;--> statement-breakpoint
ALTER TABLE "organization_quotas" ADD CONSTRAINT "organization_quotas_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "quota_reservations_org_idx" ON "quota_reservations" USING btree ("org_id");--> statement-breakpoint
CREATE INDEX "projected_node_pools_org_idx" ON "projected_node_pools" USING btree ("org_id") WHERE "projected_node_pools"."deleted_at" is null;
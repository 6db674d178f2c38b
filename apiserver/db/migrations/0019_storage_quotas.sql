CREATE TABLE "storage_quotas" (
	"org_id" uuid PRIMARY KEY NOT NULL,
	"quota_gb" integer,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "storage_quotas_quota_range" CHECK ("storage_quotas"."quota_gb" between 1 and 10240)
);
--> statement-breakpoint
ALTER TABLE "storage_quotas" ADD CONSTRAINT "storage_quotas_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;
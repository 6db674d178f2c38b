CREATE TABLE "registry_scan_turns" (
	"org_id" uuid PRIMARY KEY NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "registry_images" (
	"org_id" uuid NOT NULL,
	"digest" text NOT NULL,
	"blobs" jsonb NOT NULL,
	CONSTRAINT "registry_images_org_id_digest_pk" PRIMARY KEY("org_id","digest")
);
--> statement-breakpoint
CREATE TABLE "registry_usage" (
	"org_id" uuid PRIMARY KEY NOT NULL,
	"stored_bytes" bigint DEFAULT 0 NOT NULL,
	"tag_count" integer DEFAULT 0 NOT NULL,
	"measured_at" timestamp (3) with time zone,
	"pushed_bytes" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
DROP INDEX "registry_scans_due_idx";--> statement-breakpoint
DROP INDEX "registry_scans_started_idx";--> statement-breakpoint
DROP INDEX "registry_scans_version_idx";--> statement-breakpoint
ALTER TABLE "registry_scan_turns" ADD CONSTRAINT "registry_scan_turns_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registry_images" ADD CONSTRAINT "registry_images_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registry_usage" ADD CONSTRAINT "registry_usage_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "registry_scans_pending_idx" ON "registry_scans" USING btree ("org_id","priority","due_at") WHERE "registry_scans"."due_at" is not null;--> statement-breakpoint
INSERT INTO "registry_scan_turns" SELECT "org_id", max("started_at") FROM "registry_scans" WHERE "started_at" IS NOT NULL GROUP BY "org_id";

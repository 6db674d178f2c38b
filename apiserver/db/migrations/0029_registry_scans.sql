CREATE TABLE "registry_scans" (
	"org_id" uuid NOT NULL,
	"digest" text NOT NULL,
	"repository" text NOT NULL,
	"state" text NOT NULL,
	"priority" smallint NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp (3) with time zone,
	"claim_id" uuid,
	"started_at" timestamp (3) with time zone,
	"fault" text,
	"fault_message" text,
	"scanned_at" timestamp (3) with time zone,
	"database_version" text,
	"summary" jsonb,
	"vulnerabilities" jsonb,
	"used_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "registry_scans_org_id_digest_pk" PRIMARY KEY("org_id","digest"),
	CONSTRAINT "registry_scans_state" CHECK ("registry_scans"."state" in ('pending', 'running', 'success', 'error', 'unsupported')),
	CONSTRAINT "registry_scans_due" CHECK (("registry_scans"."due_at" is not null) = ("registry_scans"."state" in ('pending', 'running'))),
	CONSTRAINT "registry_scans_report" CHECK (("registry_scans"."summary" is null) = ("registry_scans"."scanned_at" is null))
);
--> statement-breakpoint
ALTER TABLE "registry_scans" ADD CONSTRAINT "registry_scans_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "registry_scans_due_idx" ON "registry_scans" USING btree ("priority","due_at") WHERE "registry_scans"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "registry_scans_started_idx" ON "registry_scans" USING btree ("org_id","started_at");--> statement-breakpoint
CREATE INDEX "registry_scans_version_idx" ON "registry_scans" USING btree ("database_version","used_at");
CREATE TABLE "audited_versions" (
	"uid" uuid PRIMARY KEY NOT NULL,
	"state" jsonb NOT NULL
);
--> statement-breakpoint
ALTER TABLE "audit_log" ADD COLUMN "client_request_id" text;--> statement-breakpoint
ALTER TABLE "system_events" ADD COLUMN "org_id" uuid;
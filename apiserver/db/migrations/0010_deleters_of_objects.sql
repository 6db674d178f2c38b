CREATE TABLE "awaited_deletions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"resource" text NOT NULL,
	"name" text NOT NULL,
	"target_id" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"requested_at" timestamp (3) with time zone,
	"seen_at" timestamp (3) with time zone NOT NULL,
	"entry" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deletion_requests" (
	"org_id" uuid NOT NULL,
	"resource" text NOT NULL,
	"name" text NOT NULL,
	"username" text NOT NULL,
	"impersonator" text NOT NULL,
	"minute" timestamp (3) with time zone NOT NULL,
	"received_at" timestamp (3) with time zone NOT NULL,
	"completed_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "deletion_requests_pk" PRIMARY KEY("org_id","resource","name","minute","username","impersonator")
);
--> statement-breakpoint
ALTER TABLE "observed_accesses" ADD COLUMN "created_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "awaited_deletions_target_idx" ON "awaited_deletions" USING btree ("org_id","target_id");--> statement-breakpoint
CREATE INDEX "awaited_deletions_seen_idx" ON "awaited_deletions" USING btree ("seen_at");--> statement-breakpoint
CREATE INDEX "deletion_requests_completed_idx" ON "deletion_requests" USING btree ("completed_at");
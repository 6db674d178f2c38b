CREATE TABLE "stream_tickets" (
	"hash" text PRIMARY KEY NOT NULL,
	"path" text NOT NULL,
	"holder" jsonb NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "stream_tickets_expiry_idx" ON "stream_tickets" USING btree ("expires_at");
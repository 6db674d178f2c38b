CREATE TABLE "ticket_messages" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"author_id" uuid,
	"author_type" text NOT NULL,
	"internal" boolean NOT NULL,
	"subject" text,
	"body" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"search" "tsvector" GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, coalesce(subject, '') || ' ' || body)) STORED,
	CONSTRAINT "ticket_messages_author_type" CHECK ("ticket_messages"."author_type" in ('tenant', 'provider')),
	CONSTRAINT "ticket_messages_internal" CHECK (not "ticket_messages"."internal" or "ticket_messages"."author_type" = 'provider')
);
--> statement-breakpoint
CREATE TABLE "tickets" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"cluster_id" uuid,
	"subject" text NOT NULL,
	"category" text NOT NULL,
	"severity" text NOT NULL,
	"status" text NOT NULL,
	"created_by" uuid,
	"assigned_to" uuid,
	"first_response_at" timestamp (3) with time zone,
	"resolved_at" timestamp (3) with time zone,
	"awaiting_since" timestamp (3) with time zone,
	"respond_by" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"last_message_number" integer NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "tickets_status" CHECK ("tickets"."status" in ('open', 'in_progress', 'waiting', 'resolved', 'closed')),
	CONSTRAINT "tickets_severity" CHECK ("tickets"."severity" in ('low', 'medium', 'high', 'critical')),
	CONSTRAINT "tickets_category" CHECK ("tickets"."category" in ('cluster', 'networking', 'storage', 'identity', 'billing', 'feature_request', 'general'))
);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "staff_seen_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "ticket_messages" ADD CONSTRAINT "ticket_messages_ticket_id_tickets_id_fk" FOREIGN KEY ("ticket_id") REFERENCES "public"."tickets"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ticket_messages" ADD CONSTRAINT "ticket_messages_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tickets" ADD CONSTRAINT "tickets_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tickets" ADD CONSTRAINT "tickets_created_by_users_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tickets" ADD CONSTRAINT "tickets_assigned_to_users_id_fk" FOREIGN KEY ("assigned_to") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "ticket_messages_number_key" ON "ticket_messages" USING btree ("ticket_id","number");--> statement-breakpoint
CREATE INDEX "ticket_messages_search_idx" ON "ticket_messages" USING gin ("search") WITH (fastupdate=false);--> statement-breakpoint
CREATE INDEX "tickets_org_idx" ON "tickets" USING btree ("org_id","id");--> statement-breakpoint
CREATE INDEX "tickets_status_idx" ON "tickets" USING btree ("status","id");--> statement-breakpoint
CREATE INDEX "tickets_severity_idx" ON "tickets" USING btree ("severity","id");--> statement-breakpoint
CREATE INDEX "tickets_category_idx" ON "tickets" USING btree ("category","id");--> statement-breakpoint
CREATE INDEX "tickets_assigned_idx" ON "tickets" USING btree ("assigned_to","id") WHERE "tickets"."assigned_to" is not null;--> statement-breakpoint
CREATE INDEX "tickets_unassigned_idx" ON "tickets" USING btree ("id") WHERE "tickets"."assigned_to" is null;--> statement-breakpoint
CREATE INDEX "tickets_respond_by_idx" ON "tickets" USING btree ("respond_by") WHERE "tickets"."respond_by" is not null;--> statement-breakpoint
-- How many messages have a word decides how it is searched: Postgres keeps the figures of 10,000 words rather than 1,000.
ALTER TABLE "ticket_messages" ALTER COLUMN "search" SET STATISTICS 1000;

CREATE TABLE "ticket_attachments" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"message_id" uuid,
	"internal" boolean DEFAULT false NOT NULL,
	"uploader" text NOT NULL,
	"created_by" uuid,
	"author_type" text NOT NULL,
	"filename" text NOT NULL,
	"content_type" text NOT NULL,
	"size_bytes" integer NOT NULL,
	"sha256" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"completed_at" timestamp (3) with time zone,
	"discarded_at" timestamp (3) with time zone,
	"upload_removed" boolean DEFAULT false NOT NULL,
	CONSTRAINT "ticket_attachments_author_type" CHECK ("ticket_attachments"."author_type" in ('tenant', 'provider')),
	CONSTRAINT "ticket_attachments_bound" CHECK ("ticket_attachments"."message_id" is null or ("ticket_attachments"."completed_at" is not null and "ticket_attachments"."discarded_at" is null)),
	CONSTRAINT "ticket_attachments_internal" CHECK (not "ticket_attachments"."internal" or ("ticket_attachments"."author_type" = 'provider' and "ticket_attachments"."message_id" is not null))
);
--> statement-breakpoint
ALTER TABLE "ticket_attachments" ADD CONSTRAINT "ticket_attachments_ticket_id_tickets_id_fk" FOREIGN KEY ("ticket_id") REFERENCES "public"."tickets"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ticket_attachments" ADD CONSTRAINT "ticket_attachments_message_id_ticket_messages_id_fk" FOREIGN KEY ("message_id") REFERENCES "public"."ticket_messages"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ticket_attachments" ADD CONSTRAINT "ticket_attachments_created_by_users_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "ticket_attachments_ticket_idx" ON "ticket_attachments" USING btree ("ticket_id","id");--> statement-breakpoint
CREATE INDEX "ticket_attachments_message_idx" ON "ticket_attachments" USING btree ("message_id");--> statement-breakpoint
CREATE INDEX "ticket_attachments_unswept_idx" ON "ticket_attachments" USING btree ("created_at") WHERE not "ticket_attachments"."upload_removed" or "ticket_attachments"."message_id" is null;
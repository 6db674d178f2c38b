ALTER TABLE "idempotency_keys" ADD COLUMN "user_id" uuid;--> statement-breakpoint
CREATE INDEX "idempotency_keys_user_idx" ON "idempotency_keys" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "members_invited_by_idx" ON "members" USING btree ("invited_by") WHERE "members"."user_id" is null;--> statement-breakpoint
CREATE INDEX "ticket_attachments_org_idx" ON "ticket_attachments" USING btree ("org_id");--> statement-breakpoint
CREATE INDEX "ticket_messages_org_idx" ON "ticket_messages" USING btree ("org_id","created_at");
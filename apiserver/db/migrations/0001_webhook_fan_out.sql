CREATE UNIQUE INDEX "webhook_deliveries_once_idx" ON "webhook_deliveries" USING btree ("event_id","webhook_id") WHERE "webhook_deliveries"."trigger" = 'event';--> statement-breakpoint
ALTER TABLE "webhook_events" ADD COLUMN "pending_webhook_ids" uuid[];--> statement-breakpoint
CREATE INDEX "webhook_events_pending_idx" ON "webhook_events" USING btree ("id") WHERE "webhook_events"."pending_webhook_ids" is not null;--> statement-breakpoint
ANALYZE "webhook_events";

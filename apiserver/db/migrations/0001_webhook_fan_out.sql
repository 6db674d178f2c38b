ALTER TABLE "webhook_events" ADD COLUMN "awaited_by" uuid[];--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_deliveries_once_idx" ON "webhook_deliveries" USING btree ("event_id","webhook_id") WHERE "webhook_deliveries"."trigger" = 'event';--> statement-breakpoint
CREATE INDEX "webhook_events_awaited_idx" ON "webhook_events" USING btree ("id") WHERE "webhook_events"."awaited_by" is not null;
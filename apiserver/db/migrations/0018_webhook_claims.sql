DROP INDEX "webhook_deliveries_claimed_idx";--> statement-breakpoint
ALTER TABLE "webhook_queues" ADD COLUMN "claims" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" DROP COLUMN "claim_id";
-- In the order in which programs write both, when an organization is deleted.
CREATE INDEX "api_tokens_revoked_idx" ON "api_tokens" USING btree ("revoked_at") WHERE "api_tokens"."revoked_at" is not null;--> statement-breakpoint
ALTER TABLE "webhook_queues" ADD COLUMN "answers_purged_to" uuid;
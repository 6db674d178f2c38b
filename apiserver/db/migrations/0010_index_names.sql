ALTER INDEX "api_tokens_org" RENAME TO "api_tokens_org_idx";--> statement-breakpoint
ALTER INDEX "audit_log_org" RENAME TO "audit_log_org_idx";--> statement-breakpoint
ALTER INDEX "audit_log_unplaced" RENAME TO "audit_log_unplaced_idx";--> statement-breakpoint
ALTER INDEX "idempotency_keys_created_at" RENAME TO "idempotency_keys_created_at_idx";--> statement-breakpoint
ALTER INDEX "members_org_email" RENAME TO "members_org_email_key";--> statement-breakpoint
ALTER INDEX "members_org_user" RENAME TO "members_org_user_key";--> statement-breakpoint
ALTER INDEX "members_user" RENAME TO "members_user_idx";--> statement-breakpoint
ALTER INDEX "members_invited_email" RENAME TO "members_invited_email_idx";--> statement-breakpoint
ALTER INDEX "organizations_slug" RENAME TO "organizations_slug_key";

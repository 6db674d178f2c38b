-- Programs lock an organization first, and a foreign key to it last. Once no program has one locked, the other tables are locked
-- without waiting, or not at all: who waits for either table never waits for a program that waits for this.
LOCK TABLE "organizations" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
LOCK TABLE "organization_quotas", "registry_usage", "kubeconfig_revocations", "registry_push_grants", "registry_scan_turns",
  "storage_quotas", "invoice_sequences", "credit_note_sequences" IN ACCESS EXCLUSIVE MODE NOWAIT;--> statement-breakpoint
ALTER TABLE "kubeconfig_revocations" ADD COLUMN "claim_id" uuid;

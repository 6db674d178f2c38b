-- As in 0011: programs lock an organization first, and a foreign key to it last.
LOCK TABLE "organizations" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
LOCK TABLE "kubeconfig_revocations", "registry_counted_pushes" IN ACCESS EXCLUSIVE MODE NOWAIT;--> statement-breakpoint
DROP TABLE "registry_counted_pushes";--> statement-breakpoint
ALTER TABLE "kubeconfig_revocations" ADD COLUMN "generation" integer;

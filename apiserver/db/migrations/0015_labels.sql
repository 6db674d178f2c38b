ALTER TABLE "invoice_lines" ADD COLUMN "labels" jsonb;--> statement-breakpoint
ALTER TABLE "projected_clusters" ADD COLUMN "labels" jsonb GENERATED ALWAYS AS (object -> 'spec' -> 'labels') STORED;--> statement-breakpoint
ALTER TABLE "projected_node_pools" ADD COLUMN "labels" jsonb GENERATED ALWAYS AS (object -> 'spec' -> 'labels') STORED;--> statement-breakpoint
CREATE INDEX "projected_clusters_labels_idx" ON "projected_clusters" USING btree ("org_id") WHERE "projected_clusters"."labels" is not null;--> statement-breakpoint
CREATE INDEX "projected_node_pools_labels_idx" ON "projected_node_pools" USING btree ("org_id") WHERE "projected_node_pools"."labels" is not null;
CREATE TABLE "system_event_counters" (
	"cluster_id" uuid PRIMARY KEY NOT NULL,
	"last_id" bigint NOT NULL
);
--> statement-breakpoint
-- Nothing is written between the counters and the new ids.
LOCK TABLE "system_events" IN SHARE ROW EXCLUSIVE MODE;--> statement-breakpoint
-- Events keep their ids, so that streams resume; new ones follow the latest of their cluster.
INSERT INTO "system_event_counters" ("cluster_id", "last_id") SELECT "cluster_id", max("id") FROM "system_events" GROUP BY "cluster_id";--> statement-breakpoint
DROP INDEX "system_events_cluster_idx";--> statement-breakpoint
ALTER TABLE "system_events" DROP CONSTRAINT "system_events_pkey";--> statement-breakpoint
ALTER TABLE "system_events" ALTER COLUMN "id" DROP IDENTITY;--> statement-breakpoint
ALTER TABLE "system_events" ADD CONSTRAINT "system_events_pkey" PRIMARY KEY("cluster_id","id");

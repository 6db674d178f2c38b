CREATE TABLE "cluster_intents" (
	"cluster_id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"state" text NOT NULL,
	"wish" jsonb NOT NULL,
	"origin" jsonb NOT NULL,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "cluster_intents_state" CHECK ("cluster_intents"."state" in ('pending', 'done', 'abandoned'))
);
--> statement-breakpoint
CREATE TABLE "cluster_records" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"namespace" text NOT NULL,
	"object_name" text NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"deleted_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "name_reservations" (
	"scope" uuid NOT NULL,
	"name_key" text NOT NULL,
	"object_id" uuid NOT NULL,
	"leased_until" timestamp with time zone,
	CONSTRAINT "name_reservations_scope_name_key_pk" PRIMARY KEY("scope","name_key")
);
--> statement-breakpoint
CREATE TABLE "node_pool_records" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"namespace" text NOT NULL,
	"object_name" text NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"deleted_at" timestamp with time zone,
	"cluster_id" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "projected_clusters" (
	"uid" uuid PRIMARY KEY NOT NULL,
	"id" uuid NOT NULL,
	"org_id" uuid NOT NULL,
	"namespace" text NOT NULL,
	"name" text NOT NULL,
	"display_name" text NOT NULL,
	"status" text NOT NULL,
	"resource_version" bigint NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"deleted_at" timestamp with time zone,
	"network_updated_at" timestamp with time zone NOT NULL,
	"object" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "projected_node_pools" (
	"uid" uuid PRIMARY KEY NOT NULL,
	"id" uuid NOT NULL,
	"org_id" uuid NOT NULL,
	"namespace" text NOT NULL,
	"name" text NOT NULL,
	"display_name" text NOT NULL,
	"status" text NOT NULL,
	"resource_version" bigint NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"deleted_at" timestamp with time zone,
	"cluster_id" uuid NOT NULL,
	"object" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "system_events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "system_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"cluster_id" uuid NOT NULL,
	"node_pool_id" uuid,
	"kind" text NOT NULL,
	"event_uid" uuid,
	"event_count" integer,
	"payload" jsonb NOT NULL,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "system_events_kind" CHECK ("system_events"."kind" in ('system-event', 'status'))
);
--> statement-breakpoint
CREATE TABLE "transitions" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "transitions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"object_kind" text NOT NULL,
	"object_id" uuid NOT NULL,
	"org_id" uuid NOT NULL,
	"cluster_id" uuid NOT NULL,
	"type" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"sequence" integer,
	"details" jsonb NOT NULL,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "transitions_object_kind" CHECK ("transitions"."object_kind" in ('cluster', 'node_pool'))
);
--> statement-breakpoint
CREATE INDEX "cluster_intents_pending_idx" ON "cluster_intents" USING btree ("started_at") WHERE "cluster_intents"."state" = 'pending';--> statement-breakpoint
CREATE INDEX "cluster_records_org_idx" ON "cluster_records" USING btree ("org_id","id");--> statement-breakpoint
CREATE INDEX "name_reservations_object_idx" ON "name_reservations" USING btree ("object_id");--> statement-breakpoint
CREATE INDEX "node_pool_records_cluster_idx" ON "node_pool_records" USING btree ("cluster_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "projected_clusters_id_key" ON "projected_clusters" USING btree ("id") WHERE "projected_clusters"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "projected_clusters_object_key" ON "projected_clusters" USING btree ("namespace","name") WHERE "projected_clusters"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "projected_clusters_org_idx" ON "projected_clusters" USING btree ("org_id","id") WHERE "projected_clusters"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "projected_node_pools_id_key" ON "projected_node_pools" USING btree ("id") WHERE "projected_node_pools"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "projected_node_pools_cluster_idx" ON "projected_node_pools" USING btree ("cluster_id","id") WHERE "projected_node_pools"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "system_events_cluster_idx" ON "system_events" USING btree ("cluster_id","id");--> statement-breakpoint
CREATE INDEX "system_events_recorded_idx" ON "system_events" USING btree ("recorded_at");--> statement-breakpoint
CREATE UNIQUE INDEX "system_events_source_key" ON "system_events" USING btree ("event_uid","event_count");--> statement-breakpoint
CREATE UNIQUE INDEX "transitions_once_key" ON "transitions" USING btree ("object_id","type","at");--> statement-breakpoint
CREATE UNIQUE INDEX "transitions_lifetime_key" ON "transitions" USING btree ("object_id","type") WHERE "transitions"."type" in ('created', 'ready', 'deleted');
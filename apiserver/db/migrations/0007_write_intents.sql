CREATE TABLE "write_intents" (
	"id" uuid PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"verb" text NOT NULL,
	"namespace" text NOT NULL,
	"name" text NOT NULL,
	"uid" uuid,
	"resource_version" text,
	"request_id" text NOT NULL,
	"previous_request_id" text,
	"origin" jsonb NOT NULL,
	"entry" jsonb NOT NULL,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "write_intents_kind" CHECK ("write_intents"."kind" in ('Cluster', 'NodePool', 'ClusterAccess')),
	CONSTRAINT "write_intents_verb" CHECK ("write_intents"."verb" in ('create', 'change', 'delete'))
);
--> statement-breakpoint
CREATE INDEX "write_intents_started_idx" ON "write_intents" USING btree ("started_at");--> statement-breakpoint
CREATE INDEX "write_intents_uid_idx" ON "write_intents" USING btree ("uid");
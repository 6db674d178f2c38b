CREATE TABLE "usage_figures" (
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"measured_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "usage_figures_kind_subject_pk" PRIMARY KEY("kind","subject")
);
--> statement-breakpoint
CREATE TABLE "usage_rounds" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "usage_rounds_one_row" CHECK ("usage_rounds"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "usage_sources" (
	"uid" uuid PRIMARY KEY NOT NULL,
	"resource_version" bigint NOT NULL,
	"is_deleted" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "projection_watches" (
	"id" uuid PRIMARY KEY NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "projection_watches_seen_idx" ON "projection_watches" USING btree ("seen_at");
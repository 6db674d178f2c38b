CREATE TABLE "usage_evidence" (
	"id" uuid PRIMARY KEY NOT NULL,
	"sequence" bigint GENERATED ALWAYS AS IDENTITY (sequence name "usage_evidence_sequence_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"organization_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"object_uid" text NOT NULL,
	"sample" jsonb NOT NULL,
	"observed_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "usage_intervals" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"cluster_id" uuid,
	"cluster_name" text,
	"node_pool_id" uuid,
	"subject" text NOT NULL,
	"resource_type" text NOT NULL,
	"quantity" numeric(20, 0) NOT NULL,
	"started_at" timestamp (0) with time zone NOT NULL,
	"ended_at" timestamp (0) with time zone,
	"correction_of" uuid,
	"evidence_id" uuid NOT NULL,
	CONSTRAINT "usage_intervals_order" CHECK ("usage_intervals"."ended_at" >= "usage_intervals"."started_at"),
	CONSTRAINT "usage_intervals_correction" CHECK (case when "usage_intervals"."correction_of" is null then "usage_intervals"."quantity" > 0
        else "usage_intervals"."quantity" < 0 and "usage_intervals"."ended_at" is not null end)
);
--> statement-breakpoint
ALTER TABLE "usage_intervals" ADD CONSTRAINT "usage_intervals_evidence_id_usage_evidence_id_fk" FOREIGN KEY ("evidence_id") REFERENCES "public"."usage_evidence"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_intervals" ADD CONSTRAINT "usage_intervals_correction_of_usage_intervals_id_fk" FOREIGN KEY ("correction_of") REFERENCES "public"."usage_intervals"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "usage_evidence_sequence_key" ON "usage_evidence" USING btree ("sequence");--> statement-breakpoint
CREATE UNIQUE INDEX "usage_intervals_running_key" ON "usage_intervals" USING btree ("subject","resource_type") WHERE "usage_intervals"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "usage_intervals_subject_idx" ON "usage_intervals" USING btree ("subject","resource_type");--> statement-breakpoint
CREATE INDEX "usage_intervals_pool_idx" ON "usage_intervals" USING btree ("node_pool_id") WHERE "usage_intervals"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "usage_intervals_organization_idx" ON "usage_intervals" USING btree ("organization_id",coalesce("ended_at", 'infinity'::timestamptz));
--> statement-breakpoint
CREATE FUNCTION "usage_intervals_keep"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'UPDATE' AND OLD.ended_at IS NULL AND to_jsonb(NEW) - 'ended_at' = to_jsonb(OLD) - 'ended_at' THEN
		RETURN NEW;
	END IF;
	RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;--> statement-breakpoint
CREATE FUNCTION "usage_evidence_keep"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;--> statement-breakpoint
CREATE TRIGGER "usage_evidence_append_only" BEFORE UPDATE OR DELETE ON "usage_evidence" FOR EACH ROW EXECUTE FUNCTION "usage_evidence_keep"();--> statement-breakpoint
CREATE TRIGGER "usage_evidence_no_truncate" BEFORE TRUNCATE ON "usage_evidence" FOR EACH STATEMENT EXECUTE FUNCTION "usage_evidence_keep"();--> statement-breakpoint
CREATE TRIGGER "usage_intervals_append_only" BEFORE UPDATE OR DELETE ON "usage_intervals" FOR EACH ROW EXECUTE FUNCTION "usage_intervals_keep"();--> statement-breakpoint
CREATE TRIGGER "usage_intervals_no_truncate" BEFORE TRUNCATE ON "usage_intervals" FOR EACH STATEMENT EXECUTE FUNCTION "usage_intervals_keep"();

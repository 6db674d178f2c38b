CREATE SEQUENCE "public"."audit_log_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1;--> statement-breakpoint
CREATE SCHEMA IF NOT EXISTS "audit_log_partitions";--> statement-breakpoint
ALTER TABLE "audit_log" RENAME TO "audit_log_unpartitioned";--> statement-breakpoint
ALTER TABLE "audit_log_unpartitioned" RENAME CONSTRAINT "audit_log_pkey" TO "audit_log_unpartitioned_pkey";--> statement-breakpoint
ALTER TABLE "audit_log_unpartitioned" DROP CONSTRAINT "audit_log_position";--> statement-breakpoint
DROP INDEX "audit_log_org_idx";--> statement-breakpoint
DROP INDEX "audit_log_unplaced_idx";--> statement-breakpoint
CREATE TABLE "audit_log" (
	"id" uuid NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"actor" jsonb NOT NULL,
	"action" text NOT NULL,
	"org_id" uuid,
	"target_kind" text NOT NULL,
	"target_id" text NOT NULL,
	"before" jsonb,
	"after" jsonb,
	"request_id" text,
	"source_address" text,
	"result" text NOT NULL,
	"position" bigint,
	CONSTRAINT "audit_log_id_at_pk" PRIMARY KEY("id","at")
) PARTITION BY RANGE ("at");--> statement-breakpoint
CREATE INDEX "audit_log_position_idx" ON "audit_log" USING btree ("position");--> statement-breakpoint
CREATE INDEX "audit_log_org_idx" ON "audit_log" USING btree ("org_id","position");--> statement-breakpoint
CREATE INDEX "audit_log_org_action_idx" ON "audit_log" USING btree ("org_id","action","position");--> statement-breakpoint
CREATE INDEX "audit_log_action_idx" ON "audit_log" USING btree ("action","position");--> statement-breakpoint
CREATE INDEX "audit_log_actor_idx" ON "audit_log" USING gin ("actor" jsonb_path_ops);--> statement-breakpoint
CREATE INDEX "audit_log_unplaced_idx" ON "audit_log" USING btree ("id") WHERE "audit_log"."position" is null;--> statement-breakpoint
-- The API server's role owns no table: it adds and drops partitions by these two functions alone.
CREATE FUNCTION "audit_log_add_partitions"(since timestamptz, months_ahead integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
	first_day timestamp := date_trunc('month', since AT TIME ZONE 'UTC');
	last_day timestamp := date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => months_ahead);
	partition text;
BEGIN
	PERFORM pg_advisory_xact_lock(hashtextextended('marina:audit-partitions', 0));
	WHILE first_day <= last_day LOOP
		partition := to_char(first_day, 'YYYY_MM');
		IF to_regclass(format('audit_log_partitions.%I', partition)) IS NULL THEN
			EXECUTE format(
				'CREATE TABLE audit_log_partitions.%I PARTITION OF public.audit_log FOR VALUES FROM (%L) TO (%L)',
				partition,
				first_day AT TIME ZONE 'UTC',
				(first_day + interval '1 month') AT TIME ZONE 'UTC'
			);
		END IF;
		first_day := first_day + interval '1 month';
	END LOOP;
END $$;--> statement-breakpoint
CREATE FUNCTION "audit_log_drop_partitions"(retention_days integer) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
	partition text;
BEGIN
	IF retention_days < 30 THEN
		RAISE EXCEPTION 'the audit log is kept for 30 days at least' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM pg_advisory_xact_lock(hashtextextended('marina:audit-partitions', 0));
	FOR partition IN
		-- Materialized, or other tables' names would be read as months.
		WITH partitions AS MATERIALIZED (
			SELECT tablename FROM pg_tables WHERE schemaname = 'audit_log_partitions'
		)
		SELECT tablename FROM partitions
		WHERE (to_date(tablename, 'YYYY_MM') + interval '1 month') AT TIME ZONE 'UTC'
			<= now() - make_interval(days => retention_days)
		ORDER BY tablename
	LOOP
		EXECUTE format('DROP TABLE audit_log_partitions.%I', partition);
		RETURN NEXT partition;
	END LOOP;
END $$;--> statement-breakpoint
REVOKE ALL ON FUNCTION "audit_log_add_partitions"(timestamptz, integer) FROM PUBLIC;--> statement-breakpoint
REVOKE ALL ON FUNCTION "audit_log_drop_partitions"(integer) FROM PUBLIC;--> statement-breakpoint
SELECT "audit_log_add_partitions"(coalesce((SELECT min("at") FROM "audit_log_unpartitioned"), now()), 12);--> statement-breakpoint
INSERT INTO "audit_log" ("id", "at", "actor", "action", "org_id", "target_kind", "target_id", "before", "after", "request_id", "source_address", "result", "position")
SELECT "id", "at", "actor", "action", "org_id", "target_kind", "target_id", "before", "after", "request_id", "source_address", "result", "position" FROM "audit_log_unpartitioned";--> statement-breakpoint
SELECT setval('audit_log_position_seq', coalesce(max("position"), 0) + 1, false) FROM "audit_log";--> statement-breakpoint
DROP TABLE "audit_log_unpartitioned";--> statement-breakpoint
CREATE TRIGGER "audit_log_append_only" BEFORE UPDATE OR DELETE ON "audit_log" FOR EACH ROW EXECUTE FUNCTION "audit_log_keep"();--> statement-breakpoint
CREATE TRIGGER "audit_log_no_truncate" BEFORE TRUNCATE ON "audit_log" FOR EACH STATEMENT EXECUTE FUNCTION "audit_log_keep"();

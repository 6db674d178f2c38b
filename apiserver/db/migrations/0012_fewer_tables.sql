-- The tables that go are views from here on, for programs of an earlier version: they run beside this one during an upgrade and after
-- a rollback. A migration of a later version drops the views. The migration before has locked every table that this one changes.
CREATE TABLE "document_sequences" (
	"year" integer PRIMARY KEY NOT NULL,
	"invoices" integer DEFAULT 0 NOT NULL,
	"credit_notes" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "organization_quotas" ALTER COLUMN "version" SET DEFAULT 0;--> statement-breakpoint
ALTER TABLE "organization_quotas" ALTER COLUMN "updated_at" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "organization_quotas" ALTER COLUMN "updated_at" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "organization_quotas" ADD COLUMN "storage_gb" integer;--> statement-breakpoint
ALTER TABLE "organization_quotas" ADD COLUMN "storage_version" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "organization_quotas" ADD COLUMN "storage_updated_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "registry_usage" ADD COLUMN "scan_started_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "registry_usage" ADD COLUMN "created_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "organization_quotas" ADD CONSTRAINT "organization_quotas_storage_range" CHECK ("organization_quotas"."storage_gb" between 1 and 10240);--> statement-breakpoint
INSERT INTO "document_sequences" ("year", "invoices", "credit_notes")
  SELECT "year", coalesce(invoice."last", 0), coalesce(note."last", 0)
  FROM "invoice_sequences" AS invoice FULL JOIN "credit_note_sequences" AS note USING ("year");--> statement-breakpoint
INSERT INTO "registry_usage" ("org_id", "created_at")
  SELECT "org_id", "granted_at" FROM "registry_push_grants"
  ON CONFLICT ("org_id") DO UPDATE SET "created_at" = excluded."created_at";--> statement-breakpoint
INSERT INTO "registry_usage" ("org_id", "scan_started_at")
  SELECT "org_id", "started_at" FROM "registry_scan_turns"
  ON CONFLICT ("org_id") DO UPDATE SET "scan_started_at" = excluded."scan_started_at";--> statement-breakpoint
INSERT INTO "organization_quotas" ("org_id", "storage_gb", "storage_version", "storage_updated_at")
  SELECT "org_id", "quota_gb", "version", "updated_at" FROM "storage_quotas"
  ON CONFLICT ("org_id") DO UPDATE SET "storage_gb" = excluded."storage_gb",
    "storage_version" = excluded."storage_version", "storage_updated_at" = excluded."storage_updated_at";--> statement-breakpoint
ALTER TABLE "credit_note_sequences" RENAME TO "credit_note_sequences_before";--> statement-breakpoint
ALTER TABLE "invoice_sequences" RENAME TO "invoice_sequences_before";--> statement-breakpoint
ALTER TABLE "registry_push_grants" RENAME TO "registry_push_grants_before";--> statement-breakpoint
ALTER TABLE "registry_scan_turns" RENAME TO "registry_scan_turns_before";--> statement-breakpoint
ALTER TABLE "storage_quotas" RENAME TO "storage_quotas_before";--> statement-breakpoint
CREATE VIEW "invoice_sequences" AS SELECT "year", "invoices" AS "last" FROM "document_sequences";--> statement-breakpoint
CREATE VIEW "credit_note_sequences" AS SELECT "year", "credit_notes" AS "last" FROM "document_sequences";--> statement-breakpoint
CREATE VIEW "registry_push_grants" AS SELECT "org_id", "created_at" AS "granted_at" FROM "registry_usage";--> statement-breakpoint
CREATE VIEW "registry_scan_turns" AS SELECT "org_id", "scan_started_at" AS "started_at" FROM "registry_usage";--> statement-breakpoint
CREATE VIEW "storage_quotas" AS SELECT "org_id", "storage_gb" AS "quota_gb", "storage_version" AS "version",
  "storage_updated_at" AS "updated_at" FROM "organization_quotas";--> statement-breakpoint
-- In this transaction, so that the views are never without the rights of their tables.
DO $$
DECLARE
  granted record;
BEGIN
  FOR granted IN
    SELECT copies.name, acl.privilege_type,
      CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END AS grantee
    FROM (VALUES
      ('credit_note_sequences', 'credit_note_sequences_before'),
      ('invoice_sequences', 'invoice_sequences_before'),
      ('document_sequences', 'invoice_sequences_before'),
      ('registry_push_grants', 'registry_push_grants_before'),
      ('registry_scan_turns', 'registry_scan_turns_before'),
      ('storage_quotas', 'storage_quotas_before')
    ) AS copies (name, source)
    JOIN pg_class ON pg_class.oid = copies.source::regclass
    CROSS JOIN aclexplode(pg_class.relacl) AS acl
    WHERE acl.grantee <> pg_class.relowner
  LOOP
    EXECUTE format('GRANT %s ON %I TO %s', granted.privilege_type, granted.name, granted.grantee);
  END LOOP;
END
$$;--> statement-breakpoint
DROP TABLE "credit_note_sequences_before", "invoice_sequences_before", "registry_push_grants_before", "registry_scan_turns_before", "storage_quotas_before";

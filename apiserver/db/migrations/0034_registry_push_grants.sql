CREATE TABLE "registry_push_grants" (
	"org_id" uuid PRIMARY KEY NOT NULL,
	"granted_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "registry_push_grants" ADD CONSTRAINT "registry_push_grants_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
-- Tokens that were given before are not known.
INSERT INTO "registry_push_grants" SELECT "id", now() FROM "organizations" WHERE "deleted_at" IS NULL;

CREATE TABLE "user_quotas" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"organizations" integer,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "created_by" uuid;--> statement-breakpoint
ALTER TABLE "user_quotas" ADD CONSTRAINT "user_quotas_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "organizations_creator_idx" ON "organizations" USING btree ("created_by") WHERE "organizations"."deleted_at" is null;--> statement-breakpoint
-- The creator is the one member that nobody has invited.
UPDATE "organizations" SET "created_by" = "members"."user_id" FROM "members" WHERE "members"."org_id" = "organizations"."id" AND "members"."invited_by" IS NULL AND "members"."user_id" IS NOT NULL;

CREATE TABLE "group_grants" (
	"mapping_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"org_id" uuid NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "group_grants_mapping_id_user_id_pk" PRIMARY KEY("mapping_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "group_mappings" (
	"id" uuid PRIMARY KEY NOT NULL,
	"issuer" text NOT NULL,
	"group_name" text NOT NULL,
	"org_id" uuid NOT NULL,
	"role" text NOT NULL,
	"managed_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "group_mappings_role" CHECK ("group_mappings"."role" in ('admin', 'member', 'billing', 'viewer')),
	CONSTRAINT "group_mappings_managed_by" CHECK ("group_mappings"."managed_by" in ('configuration', 'staff'))
);
--> statement-breakpoint
DROP INDEX "members_org_email_key";--> statement-breakpoint
ALTER TABLE "members" ADD COLUMN "source" text DEFAULT 'direct' NOT NULL;--> statement-breakpoint
ALTER TABLE "group_grants" ADD CONSTRAINT "group_grants_mapping_id_group_mappings_id_fk" FOREIGN KEY ("mapping_id") REFERENCES "public"."group_mappings"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "group_grants" ADD CONSTRAINT "group_grants_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "group_grants" ADD CONSTRAINT "group_grants_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "group_mappings" ADD CONSTRAINT "group_mappings_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "group_grants_org_user_idx" ON "group_grants" USING btree ("org_id","user_id");--> statement-breakpoint
CREATE INDEX "group_grants_user_idx" ON "group_grants" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "group_grants_expiry_idx" ON "group_grants" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "group_mappings_group_key" ON "group_mappings" USING btree ("issuer","group_name","org_id");--> statement-breakpoint
CREATE INDEX "group_mappings_org_idx" ON "group_mappings" USING btree ("org_id");--> statement-breakpoint
CREATE INDEX "members_group_expiry_idx" ON "members" USING btree ("expires_at") WHERE "members"."source" = 'group';--> statement-breakpoint
CREATE UNIQUE INDEX "members_org_email_key" ON "members" USING btree ("org_id",lower("email")) WHERE "members"."source" = 'direct';--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_source" CHECK ("members"."source" = 'direct' or ("members"."source" = 'group' and "members"."role" <> 'owner'
        and "members"."user_id" is not null and "members"."expires_at" is not null));
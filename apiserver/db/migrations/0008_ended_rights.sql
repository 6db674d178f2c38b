CREATE TABLE "ended_rights" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"member_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"target_id" uuid NOT NULL,
	"cluster_id" uuid,
	"object_name" text,
	"object_uid" uuid,
	"generation" integer,
	"requested_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "ended_rights_kind" CHECK ("ended_rights"."kind" in ('api_token', 'cluster_access', 'admin_credentials'))
);
--> statement-breakpoint
CREATE TABLE "offboardings" (
	"member_id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"email" text NOT NULL,
	"removed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"completed_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "kubeconfig_revocations" ADD COLUMN "member_id" uuid;--> statement-breakpoint
ALTER TABLE "ended_rights" ADD CONSTRAINT "ended_rights_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ended_rights" ADD CONSTRAINT "ended_rights_member_id_offboardings_member_id_fk" FOREIGN KEY ("member_id") REFERENCES "public"."offboardings"("member_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "offboardings" ADD CONSTRAINT "offboardings_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "ended_rights_target_key" ON "ended_rights" USING btree ("member_id","kind","target_id");--> statement-breakpoint
CREATE INDEX "ended_rights_org_idx" ON "ended_rights" USING btree ("org_id","member_id","id");--> statement-breakpoint
CREATE INDEX "ended_rights_pending_idx" ON "ended_rights" USING btree ("id") WHERE "ended_rights"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "offboardings_org_idx" ON "offboardings" USING btree ("org_id","member_id");--> statement-breakpoint
CREATE INDEX "offboardings_pending_idx" ON "offboardings" USING btree ("removed_at") WHERE "offboardings"."completed_at" is null;
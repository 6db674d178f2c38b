-- Programs lock an organization first, and a foreign key to it last.
LOCK TABLE "organizations" IN SHARE ROW EXCLUSIVE MODE;--> statement-breakpoint
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;
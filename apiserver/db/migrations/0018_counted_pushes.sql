CREATE TABLE "registry_counted_pushes" (
	"org_id" uuid NOT NULL,
	"event_id" text NOT NULL,
	"counted_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "registry_counted_pushes_org_id_event_id_pk" PRIMARY KEY("org_id","event_id")
);
--> statement-breakpoint
ALTER TABLE "registry_counted_pushes" ADD CONSTRAINT "registry_counted_pushes_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "registry_counted_pushes_counted_idx" ON "registry_counted_pushes" USING btree ("counted_at");
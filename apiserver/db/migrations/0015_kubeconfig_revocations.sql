CREATE TABLE "kubeconfig_revocations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"user_id" uuid,
	"token_id" uuid,
	"token_version" integer,
	"cluster_id" uuid,
	"origin" jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"lease_expires_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "kubeconfig_revocations_subject" CHECK (num_nonnulls("kubeconfig_revocations"."user_id", "kubeconfig_revocations"."token_id", "kubeconfig_revocations"."cluster_id") = 1
        and num_nonnulls("kubeconfig_revocations"."token_id", "kubeconfig_revocations"."token_version") <> 1)
);
--> statement-breakpoint
CREATE TABLE "observed_accesses" (
	"uid" uuid PRIMARY KEY NOT NULL,
	"id" uuid NOT NULL,
	"org_id" uuid NOT NULL,
	"namespace" text NOT NULL,
	"name" text NOT NULL,
	"cluster_name" text NOT NULL,
	"subject" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone
);
--> statement-breakpoint
ALTER TABLE "kubeconfig_revocations" ADD CONSTRAINT "kubeconfig_revocations_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "observed_accesses" ADD CONSTRAINT "observed_accesses_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "kubeconfig_revocations_lease_idx" ON "kubeconfig_revocations" USING btree ("lease_expires_at");--> statement-breakpoint
CREATE INDEX "kubeconfig_revocations_org_idx" ON "kubeconfig_revocations" USING btree ("org_id","lease_expires_at");--> statement-breakpoint
CREATE INDEX "observed_accesses_live_idx" ON "observed_accesses" USING btree ("uid") WHERE "observed_accesses"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "observed_accesses_ended_idx" ON "observed_accesses" USING btree ("ended_at");
CREATE TABLE "budget_alerts" (
	"org_id" uuid NOT NULL,
	"month" text NOT NULL,
	"threshold_pct" integer NOT NULL,
	"spend_cents" bigint NOT NULL,
	"fired_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "budget_alerts_org_id_month_threshold_pct_pk" PRIMARY KEY("org_id","month","threshold_pct")
);
--> statement-breakpoint
CREATE TABLE "budgets" (
	"org_id" uuid PRIMARY KEY NOT NULL,
	"monthly_limit_eur" numeric(16, 6) NOT NULL,
	"thresholds_pct" integer[] NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	"next_check_at" timestamp (3) with time zone,
	"version" integer NOT NULL,
	CONSTRAINT "budgets_limit_range" CHECK ("budgets"."monthly_limit_eur" > 0),
	CONSTRAINT "budgets_thresholds" CHECK (cardinality("budgets"."thresholds_pct") between 1 and 100)
);
--> statement-breakpoint
ALTER TABLE "budget_alerts" ADD CONSTRAINT "budget_alerts_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "budgets" ADD CONSTRAINT "budgets_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "budgets_next_check_idx" ON "budgets" USING btree ("next_check_at") WHERE "budgets"."next_check_at" is not null;
CREATE TABLE "invoice_lines" (
	"invoice_id" uuid NOT NULL,
	"position" integer NOT NULL,
	"period" date NOT NULL,
	"adjustment" boolean NOT NULL,
	"cluster_id" uuid,
	"cluster_name" text,
	"resource_type" text NOT NULL,
	"unit_price_eur" numeric(16, 6) NOT NULL,
	"unit_seconds" numeric(40, 0) NOT NULL,
	"amount_cents" bigint NOT NULL,
	CONSTRAINT "invoice_lines_invoice_id_position_pk" PRIMARY KEY("invoice_id","position")
);
--> statement-breakpoint
CREATE TABLE "invoice_sequences" (
	"year" integer PRIMARY KEY NOT NULL,
	"last" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "invoices" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"period" date NOT NULL,
	"number" text NOT NULL,
	"year" integer NOT NULL,
	"sequence" integer NOT NULL,
	"issued_at" timestamp (3) with time zone NOT NULL,
	"amount_cents" bigint NOT NULL,
	"vat_case" text NOT NULL,
	"vat_basis_points" integer NOT NULL,
	"vat_cents" bigint NOT NULL,
	"supplier" jsonb NOT NULL,
	"buyer" jsonb NOT NULL,
	CONSTRAINT "invoices_number_unique" UNIQUE("number"),
	CONSTRAINT "invoices_period_key" UNIQUE("org_id","period"),
	CONSTRAINT "invoices_sequence_key" UNIQUE("year","sequence"),
	CONSTRAINT "invoices_amount" CHECK ("invoices"."amount_cents" >= 0)
);
--> statement-breakpoint
CREATE TABLE "month_closes" (
	"period" date PRIMARY KEY NOT NULL,
	"requested_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "waiting_invoices" (
	"id" uuid NOT NULL,
	"org_id" uuid NOT NULL,
	"period" date NOT NULL,
	"reason" text NOT NULL,
	"amount_cents" bigint NOT NULL,
	"since" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "waiting_invoices_org_id_period_pk" PRIMARY KEY("org_id","period"),
	CONSTRAINT "waiting_invoices_id_unique" UNIQUE("id")
);
--> statement-breakpoint
CREATE TABLE "billing_profiles" (
	"org_id" uuid PRIMARY KEY NOT NULL,
	"name" text,
	"street" text,
	"postal_code" text,
	"city" text,
	"country" text,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "billing_profiles_country" CHECK ("billing_profiles"."country" ~ '^[A-Z]{2}$')
);
--> statement-breakpoint
ALTER TABLE "invoice_lines" ADD CONSTRAINT "invoice_lines_invoice_id_invoices_id_fk" FOREIGN KEY ("invoice_id") REFERENCES "public"."invoices"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "billing_profiles" ADD CONSTRAINT "billing_profiles_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "month_closes_open_idx" ON "month_closes" USING btree ("period") WHERE "month_closes"."finished_at" is null;
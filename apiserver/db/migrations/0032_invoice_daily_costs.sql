CREATE TABLE "invoice_daily_costs" (
	"invoice_id" uuid PRIMARY KEY NOT NULL,
	"days" jsonb NOT NULL
);
--> statement-breakpoint
ALTER TABLE "invoice_daily_costs" ADD CONSTRAINT "invoice_daily_costs_invoice_id_invoices_id_fk" FOREIGN KEY ("invoice_id") REFERENCES "public"."invoices"("id") ON DELETE no action ON UPDATE no action;
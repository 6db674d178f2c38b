ALTER TABLE "invoice_lines" ADD COLUMN "first_day" date;--> statement-breakpoint
ALTER TABLE "invoice_lines" ADD COLUMN "last_day" date;--> statement-breakpoint
ALTER TABLE "billing_profiles" ADD COLUMN "tax_number" text;--> statement-breakpoint
ALTER TABLE "billing_profiles" ADD COLUMN "buyer_reference" text;--> statement-breakpoint
ALTER TABLE "billing_profiles" ADD COLUMN "purchase_order" text;
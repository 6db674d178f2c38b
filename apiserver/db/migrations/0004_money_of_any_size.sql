ALTER TABLE "budget_alerts" ALTER COLUMN "spend_cents" SET DATA TYPE numeric(400, 0);--> statement-breakpoint
ALTER TABLE "budgets" ALTER COLUMN "monthly_limit_eur" SET DATA TYPE numeric(320, 6);--> statement-breakpoint
ALTER TABLE "credit_note_lines" ALTER COLUMN "amount_cents" SET DATA TYPE numeric(400, 0);--> statement-breakpoint
ALTER TABLE "credit_notes" ALTER COLUMN "amount_cents" SET DATA TYPE numeric(400, 0);--> statement-breakpoint
ALTER TABLE "credit_notes" ALTER COLUMN "vat_cents" SET DATA TYPE numeric(400, 0);--> statement-breakpoint
ALTER TABLE "invoice_lines" ALTER COLUMN "unit_price_eur" SET DATA TYPE numeric(320, 6);--> statement-breakpoint
ALTER TABLE "invoice_lines" ALTER COLUMN "amount_cents" SET DATA TYPE numeric(400, 0);--> statement-breakpoint
ALTER TABLE "invoices" ALTER COLUMN "amount_cents" SET DATA TYPE numeric(400, 0);--> statement-breakpoint
ALTER TABLE "invoices" ALTER COLUMN "vat_cents" SET DATA TYPE numeric(400, 0);--> statement-breakpoint
ALTER TABLE "waiting_invoices" ALTER COLUMN "amount_cents" SET DATA TYPE numeric(400, 0);--> statement-breakpoint
ALTER TABLE "package_terms" ALTER COLUMN "monthly_price_eur" SET DATA TYPE numeric(320, 6);--> statement-breakpoint
ALTER TABLE "rate_card_prices" ALTER COLUMN "unit_price_eur" SET DATA TYPE numeric(320, 6);
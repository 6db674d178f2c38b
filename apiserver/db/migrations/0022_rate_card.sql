CREATE TABLE "rate_card_prices" (
	"id" uuid PRIMARY KEY NOT NULL,
	"resource_type" text NOT NULL,
	"unit_price_eur" numeric(16, 6) NOT NULL,
	"effective_from" timestamp (3) with time zone NOT NULL,
	"changed_by" jsonb NOT NULL,
	CONSTRAINT "rate_card_prices_effective_key" UNIQUE("resource_type","effective_from"),
	CONSTRAINT "rate_card_prices_price_range" CHECK ("rate_card_prices"."unit_price_eur" >= 0)
);

--> statement-breakpoint
INSERT INTO "rate_card_prices" ("id", "resource_type", "unit_price_eur", "effective_from", "changed_by") VALUES
	('00000000-0000-7000-8000-000000000001', 'control_plane', 20, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000002', 'vcpu', 5, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000003', 'memory', 2.50, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000004', 'disk', 0.08, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000005', 'storage_block', 0.08, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000006', 'storage_rwx', 0.12, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000007', 'loadbalancer', 8, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000008', 'registry', 0.05, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000009', 'snapshot', 0.04, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000010', 'public_ip', 4, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}');

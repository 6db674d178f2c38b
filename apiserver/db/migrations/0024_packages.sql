CREATE TABLE "package_terms" (
	"id" uuid PRIMARY KEY NOT NULL,
	"slug" text NOT NULL,
	"monthly_price_eur" numeric(16, 6) NOT NULL,
	"control_plane_replicas" integer NOT NULL,
	"control_planes" integer NOT NULL,
	"vcpus" integer NOT NULL,
	"memory_gb" integer NOT NULL,
	"disk_gb" integer NOT NULL,
	"retired" boolean NOT NULL,
	"effective_from" timestamp (3) with time zone NOT NULL,
	"changed_by" jsonb NOT NULL,
	CONSTRAINT "package_terms_effective_key" UNIQUE("slug","effective_from"),
	CONSTRAINT "package_terms_price_range" CHECK ("package_terms"."monthly_price_eur" >= 0),
	CONSTRAINT "package_terms_replicas" CHECK ("package_terms"."control_plane_replicas" in (1, 3, 5))
);

--> statement-breakpoint
INSERT INTO "package_terms" ("id", "slug", "monthly_price_eur", "control_plane_replicas", "control_planes", "vcpus", "memory_gb", "disk_gb", "retired", "effective_from", "changed_by") VALUES
	('00000000-0000-7000-8000-000000000011', 'dev', 19, 1, 1, 2, 4, 40, false, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000012', 'starter', 59, 1, 1, 4, 8, 80, false, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000013', 'growth', 199, 3, 1, 16, 32, 320, false, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000014', 'scale', 699, 3, 1, 64, 128, 1280, false, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}');

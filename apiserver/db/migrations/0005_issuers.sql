CREATE TABLE "issuers" (
	"url" text PRIMARY KEY NOT NULL,
	"subject_claim" text NOT NULL,
	"id_namespace" text NOT NULL,
	"uuid_subjects" boolean NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);

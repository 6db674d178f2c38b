CREATE TABLE "refused_requests" (
	"actor_id" uuid NOT NULL,
	"operation_id" text NOT NULL,
	"hour" timestamp (0) with time zone NOT NULL,
	"actor" jsonb NOT NULL,
	"count" integer NOT NULL,
	CONSTRAINT "refused_requests_hour_actor_id_operation_id_pk" PRIMARY KEY("hour","actor_id","operation_id")
);

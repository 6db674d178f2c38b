CREATE SCHEMA IF NOT EXISTS "audit_log_partitions";--> statement-breakpoint
CREATE SEQUENCE "public"."audit_log_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1;--> statement-breakpoint
CREATE TABLE "api_tokens" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"scopes" text[] NOT NULL,
	"secret_hash" text NOT NULL,
	"created_by" uuid NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"rotated_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	"version" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "api_tokens_role" CHECK ("api_tokens"."role" in ('owner', 'admin', 'member', 'billing', 'viewer'))
);
--> statement-breakpoint
CREATE TABLE "audit_log" (
	"id" uuid NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"actor" jsonb NOT NULL,
	"action" text NOT NULL,
	"org_id" uuid,
	"target_kind" text NOT NULL,
	"target_id" text NOT NULL,
	"before" jsonb,
	"after" jsonb,
	"request_id" text,
	"source_address" text,
	"result" text NOT NULL,
	"position" bigint,
	CONSTRAINT "audit_log_id_at_pk" PRIMARY KEY("id","at")
) PARTITION BY RANGE ("at");
--> statement-breakpoint
CREATE TABLE "refused_requests" (
	"actor_id" uuid NOT NULL,
	"operation_id" text NOT NULL,
	"hour" timestamp (0) with time zone NOT NULL,
	"actor" jsonb NOT NULL,
	"count" integer NOT NULL,
	CONSTRAINT "refused_requests_hour_actor_id_operation_id_pk" PRIMARY KEY("hour","actor_id","operation_id")
);
--> statement-breakpoint
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
CREATE TABLE "credit_note_lines" (
	"credit_note_id" uuid NOT NULL,
	"position" integer NOT NULL,
	"description" text NOT NULL,
	"amount_cents" bigint NOT NULL,
	CONSTRAINT "credit_note_lines_credit_note_id_position_pk" PRIMARY KEY("credit_note_id","position"),
	CONSTRAINT "credit_note_lines_amount" CHECK ("credit_note_lines"."amount_cents" > 0)
);
--> statement-breakpoint
CREATE TABLE "credit_note_sequences" (
	"year" integer PRIMARY KEY NOT NULL,
	"last" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "credit_notes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
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
	"invoice_id" uuid NOT NULL,
	"reason" text NOT NULL,
	CONSTRAINT "credit_notes_number_unique" UNIQUE("number"),
	CONSTRAINT "credit_notes_sequence_key" UNIQUE("year","sequence"),
	CONSTRAINT "credit_notes_amount" CHECK ("credit_notes"."amount_cents" > 0)
);
--> statement-breakpoint
CREATE TABLE "invoice_daily_costs" (
	"invoice_id" uuid PRIMARY KEY NOT NULL,
	"days" jsonb NOT NULL
);
--> statement-breakpoint
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
	"period" date NOT NULL,
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
CREATE TABLE "usage_evidence" (
	"id" uuid PRIMARY KEY NOT NULL,
	"sequence" bigint GENERATED ALWAYS AS IDENTITY (sequence name "usage_evidence_sequence_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"organization_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"object_uid" text NOT NULL,
	"sample" jsonb NOT NULL,
	"observed_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "usage_figures" (
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"measured_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "usage_figures_kind_subject_pk" PRIMARY KEY("kind","subject")
);
--> statement-breakpoint
CREATE TABLE "usage_intervals" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"cluster_id" uuid,
	"cluster_name" text,
	"node_pool_id" uuid,
	"subject" text NOT NULL,
	"resource_type" text NOT NULL,
	"quantity" numeric(20, 0) NOT NULL,
	"started_at" timestamp (0) with time zone NOT NULL,
	"ended_at" timestamp (0) with time zone,
	"correction_of" uuid,
	"evidence_id" uuid NOT NULL,
	CONSTRAINT "usage_intervals_order" CHECK ("usage_intervals"."ended_at" >= "usage_intervals"."started_at"),
	CONSTRAINT "usage_intervals_correction" CHECK (case when "usage_intervals"."correction_of" is null then "usage_intervals"."quantity" > 0
        else "usage_intervals"."quantity" < 0 and "usage_intervals"."ended_at" is not null end)
);
--> statement-breakpoint
CREATE TABLE "usage_rounds" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "usage_rounds_one_row" CHECK ("usage_rounds"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "usage_sources" (
	"uid" uuid PRIMARY KEY NOT NULL,
	"resource_version" bigint NOT NULL,
	"is_deleted" boolean NOT NULL
);
--> statement-breakpoint
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
CREATE TABLE "cluster_intents" (
	"cluster_id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"state" text NOT NULL,
	"request" jsonb NOT NULL,
	"origin" jsonb NOT NULL,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "cluster_intents_state" CHECK ("cluster_intents"."state" in ('pending', 'done', 'abandoned'))
);
--> statement-breakpoint
CREATE TABLE "write_intents" (
	"id" uuid PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"verb" text NOT NULL,
	"namespace" text NOT NULL,
	"name" text NOT NULL,
	"uid" uuid,
	"resource_version" text,
	"request_id" text NOT NULL,
	"previous_request_id" text,
	"origin" jsonb NOT NULL,
	"entry" jsonb NOT NULL,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "write_intents_kind" CHECK ("write_intents"."kind" in ('Cluster', 'NodePool', 'ClusterAccess')),
	CONSTRAINT "write_intents_verb" CHECK ("write_intents"."verb" in ('create', 'change', 'delete'))
);
--> statement-breakpoint
CREATE TABLE "system_event_counters" (
	"cluster_id" uuid PRIMARY KEY NOT NULL,
	"last_id" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "system_events" (
	"id" bigint NOT NULL,
	"cluster_id" uuid NOT NULL,
	"node_pool_id" uuid,
	"kind" text NOT NULL,
	"event_uid" uuid,
	"event_count" integer,
	"payload" jsonb NOT NULL,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "system_events_pkey" PRIMARY KEY("cluster_id","id"),
	CONSTRAINT "system_events_kind" CHECK ("system_events"."kind" in ('system-event', 'status'))
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"scope" text NOT NULL,
	"key" text NOT NULL,
	"body_hash" text NOT NULL,
	"id" uuid NOT NULL,
	"object_name" text,
	"lease_expires_at" timestamp (3) with time zone NOT NULL,
	"status" integer,
	"headers" jsonb,
	"body" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "idempotency_keys_scope_key_pk" PRIMARY KEY("scope","key")
);
--> statement-breakpoint
CREATE TABLE "members" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"user_id" uuid,
	"email" text NOT NULL,
	"role" text NOT NULL,
	"invited_by" uuid,
	"accepted_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "members_role" CHECK ("members"."role" in ('owner', 'admin', 'member', 'billing', 'viewer'))
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"issuer" text NOT NULL,
	"email" text,
	"email_verified" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"staff_seen_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "organization_quotas" (
	"org_id" uuid PRIMARY KEY NOT NULL,
	"clusters" integer,
	"node_pools" integer,
	"nodes" integer,
	"vcpus" integer,
	"memory_gb" integer,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "organizations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"billing_email" text,
	"vat_id" text,
	"created_by" uuid,
	"plan" text DEFAULT 'starter' NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleting_at" timestamp (3) with time zone,
	"deleted_at" timestamp (3) with time zone,
	"namespace_ready_at" timestamp (3) with time zone,
	CONSTRAINT "organizations_name_length" CHECK (char_length("organizations"."name") between 1 and 100)
);
--> statement-breakpoint
CREATE TABLE "webhook_attempts" (
	"delivery_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"org_id" uuid NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"duration_ms" integer NOT NULL,
	"request_url" text NOT NULL,
	"request_headers" jsonb NOT NULL,
	"status_code" integer,
	"response_headers" jsonb,
	"response_body" "bytea",
	"error_class" text,
	"error_message" text,
	CONSTRAINT "webhook_attempts_delivery_id_number_pk" PRIMARY KEY("delivery_id","number")
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"webhook_id" uuid NOT NULL,
	"event_id" uuid NOT NULL,
	"event_type" text NOT NULL,
	"trigger" text NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"max_attempts" integer NOT NULL,
	"next_attempt_at" timestamp (3) with time zone DEFAULT now(),
	"last_status_code" integer,
	"last_error_class" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"completed_at" timestamp (3) with time zone,
	CONSTRAINT "webhook_deliveries_trigger" CHECK ("webhook_deliveries"."trigger" in ('event', 'test', 'redelivery', 'recovery')),
	CONSTRAINT "webhook_deliveries_status" CHECK ("webhook_deliveries"."status" in ('pending', 'delivered', 'failed', 'cancelled')),
	CONSTRAINT "webhook_deliveries_pending" CHECK (("webhook_deliveries"."status" = 'pending') = ("webhook_deliveries"."next_attempt_at" is not null))
);
--> statement-breakpoint
CREATE TABLE "webhook_events" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"type" text NOT NULL,
	"body" text NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_queues" (
	"webhook_id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"due_at" timestamp (3) with time zone,
	"claims" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"paused_until" timestamp (3) with time zone,
	"consecutive_failures" integer DEFAULT 0 NOT NULL,
	"exhausted_events" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp (3) with time zone,
	"failure_reported_at" timestamp (3) with time zone,
	"last_delivery_at" timestamp (3) with time zone,
	"last_status_code" integer
);
--> statement-breakpoint
CREATE TABLE "webhook_secrets" (
	"id" uuid PRIMARY KEY NOT NULL,
	"webhook_id" uuid NOT NULL,
	"org_id" uuid NOT NULL,
	"ciphertext" "bytea" NOT NULL,
	"key_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"url" text NOT NULL,
	"description" text NOT NULL,
	"events" text[] NOT NULL,
	"enabled" boolean NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"disabled_reason" text,
	"disabled_at" timestamp (3) with time zone,
	"deleted_at" timestamp (3) with time zone,
	"version" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "webhooks_disabled_reason" CHECK ("webhooks"."disabled_reason" in ('gone', 'failing')),
	CONSTRAINT "webhooks_disabled" CHECK ("webhooks"."enabled" or "webhooks"."disabled_at" is not null)
);
--> statement-breakpoint
CREATE TABLE "cluster_records" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"namespace" text NOT NULL,
	"object_name" text NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"deleted_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "name_reservations" (
	"scope" uuid NOT NULL,
	"name_key" text NOT NULL,
	"object_id" uuid NOT NULL,
	"leased_until" timestamp with time zone,
	CONSTRAINT "name_reservations_scope_name_key_pk" PRIMARY KEY("scope","name_key")
);
--> statement-breakpoint
CREATE TABLE "node_pool_records" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"namespace" text NOT NULL,
	"object_name" text NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"deleted_at" timestamp with time zone,
	"cluster_id" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "projected_clusters" (
	"uid" uuid PRIMARY KEY NOT NULL,
	"id" uuid NOT NULL,
	"org_id" uuid NOT NULL,
	"namespace" text NOT NULL,
	"name" text NOT NULL,
	"display_name" text NOT NULL,
	"status" text NOT NULL,
	"resource_version" bigint NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"outside_writers" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"deleted_at" timestamp with time zone,
	"network_updated_at" timestamp with time zone NOT NULL,
	"object" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "projected_node_pools" (
	"uid" uuid PRIMARY KEY NOT NULL,
	"id" uuid NOT NULL,
	"org_id" uuid NOT NULL,
	"namespace" text NOT NULL,
	"name" text NOT NULL,
	"display_name" text NOT NULL,
	"status" text NOT NULL,
	"resource_version" bigint NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"outside_writers" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"deleted_at" timestamp with time zone,
	"cluster_id" uuid NOT NULL,
	"object" jsonb NOT NULL,
	"quota_nodes" integer GENERATED ALWAYS AS (case
  when coalesce(((object -> 'spec' ->> 'maxVCPUs')::int), 0) > coalesce(((object -> 'spec' ->> 'minVCPUs')::int), 0) or coalesce(((object -> 'spec' ->> 'maxMemoryGB')::int), 0) > coalesce(((object -> 'spec' ->> 'minMemoryGB')::int), 0)
  then greatest(1, least(1000, ((object -> 'spec' ->> 'maxVCPUs')::int) / ((object -> 'spec' ->> 'vcpus')::int), ((object -> 'spec' ->> 'maxMemoryGB')::int) / ((object -> 'spec' ->> 'memoryGB')::int)))
  else ((object -> 'spec' ->> 'desiredNodes')::int) end) STORED,
	"quota_vcpus" integer GENERATED ALWAYS AS ((case
  when coalesce(((object -> 'spec' ->> 'maxVCPUs')::int), 0) > coalesce(((object -> 'spec' ->> 'minVCPUs')::int), 0) or coalesce(((object -> 'spec' ->> 'maxMemoryGB')::int), 0) > coalesce(((object -> 'spec' ->> 'minMemoryGB')::int), 0)
  then greatest(1, least(1000, ((object -> 'spec' ->> 'maxVCPUs')::int) / ((object -> 'spec' ->> 'vcpus')::int), ((object -> 'spec' ->> 'maxMemoryGB')::int) / ((object -> 'spec' ->> 'memoryGB')::int)))
  else ((object -> 'spec' ->> 'desiredNodes')::int) end) * ((object -> 'spec' ->> 'vcpus')::int)) STORED,
	"quota_memory_gb" integer GENERATED ALWAYS AS ((case
  when coalesce(((object -> 'spec' ->> 'maxVCPUs')::int), 0) > coalesce(((object -> 'spec' ->> 'minVCPUs')::int), 0) or coalesce(((object -> 'spec' ->> 'maxMemoryGB')::int), 0) > coalesce(((object -> 'spec' ->> 'minMemoryGB')::int), 0)
  then greatest(1, least(1000, ((object -> 'spec' ->> 'maxVCPUs')::int) / ((object -> 'spec' ->> 'vcpus')::int), ((object -> 'spec' ->> 'maxMemoryGB')::int) / ((object -> 'spec' ->> 'memoryGB')::int)))
  else ((object -> 'spec' ->> 'desiredNodes')::int) end) * ((object -> 'spec' ->> 'memoryGB')::int)) STORED
);
--> statement-breakpoint
CREATE TABLE "projection_watches" (
	"id" uuid PRIMARY KEY NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "transitions" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "transitions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"object_kind" text NOT NULL,
	"object_id" uuid NOT NULL,
	"org_id" uuid NOT NULL,
	"cluster_id" uuid NOT NULL,
	"type" text NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"sequence" integer,
	"details" jsonb NOT NULL,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "transitions_object_kind" CHECK ("transitions"."object_kind" in ('cluster', 'node_pool'))
);
--> statement-breakpoint
CREATE TABLE "quota_reservations" (
	"id" uuid NOT NULL,
	"object_id" uuid NOT NULL,
	"org_id" uuid NOT NULL,
	"clusters" integer NOT NULL,
	"node_pools" integer NOT NULL,
	"nodes" integer NOT NULL,
	"vcpus" integer NOT NULL,
	"memory_gb" integer NOT NULL,
	"leased_until" timestamp with time zone NOT NULL,
	CONSTRAINT "quota_reservations_id_object_id_pk" PRIMARY KEY("id","object_id")
);
--> statement-breakpoint
CREATE TABLE "registry_credentials" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"cluster_id" uuid NOT NULL,
	"secret_hash" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "registry_push_grants" (
	"org_id" uuid PRIMARY KEY NOT NULL,
	"granted_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "registry_scan_turns" (
	"org_id" uuid PRIMARY KEY NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "registry_scans" (
	"org_id" uuid NOT NULL,
	"digest" text NOT NULL,
	"repository" text NOT NULL,
	"state" text NOT NULL,
	"priority" smallint NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp (3) with time zone,
	"claim_id" uuid,
	"started_at" timestamp (3) with time zone,
	"fault" text,
	"fault_message" text,
	"scanned_at" timestamp (3) with time zone,
	"database_version" text,
	"summary" jsonb,
	"vulnerabilities" jsonb,
	"used_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "registry_scans_org_id_digest_pk" PRIMARY KEY("org_id","digest"),
	CONSTRAINT "registry_scans_state" CHECK ("registry_scans"."state" in ('pending', 'running', 'success', 'error', 'unsupported')),
	CONSTRAINT "registry_scans_due" CHECK (("registry_scans"."due_at" is not null) = ("registry_scans"."state" in ('pending', 'running'))),
	CONSTRAINT "registry_scans_report" CHECK (("registry_scans"."summary" is null) = ("registry_scans"."scanned_at" is null))
);
--> statement-breakpoint
CREATE TABLE "registry_images" (
	"org_id" uuid NOT NULL,
	"digest" text NOT NULL,
	"blobs" jsonb NOT NULL,
	CONSTRAINT "registry_images_org_id_digest_pk" PRIMARY KEY("org_id","digest")
);
--> statement-breakpoint
CREATE TABLE "registry_usage" (
	"org_id" uuid PRIMARY KEY NOT NULL,
	"stored_bytes" bigint DEFAULT 0 NOT NULL,
	"tag_count" integer DEFAULT 0 NOT NULL,
	"measured_at" timestamp (3) with time zone,
	"pushed_bytes" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "storage_quotas" (
	"org_id" uuid PRIMARY KEY NOT NULL,
	"quota_gb" integer,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "storage_quotas_quota_range" CHECK ("storage_quotas"."quota_gb" between 1 and 10240)
);
--> statement-breakpoint
CREATE TABLE "stream_tickets" (
	"hash" text PRIMARY KEY NOT NULL,
	"path" text NOT NULL,
	"holder" jsonb NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ticket_attachments" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"message_id" uuid,
	"internal" boolean DEFAULT false NOT NULL,
	"uploader" text NOT NULL,
	"created_by" uuid,
	"author_type" text NOT NULL,
	"filename" text NOT NULL,
	"content_type" text NOT NULL,
	"size_bytes" integer NOT NULL,
	"sha256" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"completed_at" timestamp (3) with time zone,
	"discarded_at" timestamp (3) with time zone,
	"upload_removed" boolean DEFAULT false NOT NULL,
	CONSTRAINT "ticket_attachments_author_type" CHECK ("ticket_attachments"."author_type" in ('tenant', 'provider')),
	CONSTRAINT "ticket_attachments_bound" CHECK ("ticket_attachments"."message_id" is null or ("ticket_attachments"."completed_at" is not null and "ticket_attachments"."discarded_at" is null)),
	CONSTRAINT "ticket_attachments_internal" CHECK (not "ticket_attachments"."internal" or ("ticket_attachments"."author_type" = 'provider' and "ticket_attachments"."message_id" is not null))
);
--> statement-breakpoint
CREATE TABLE "ticket_messages" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"ticket_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"author_id" uuid,
	"author_type" text NOT NULL,
	"internal" boolean NOT NULL,
	"subject" text,
	"body" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"search" "tsvector" GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, coalesce(subject, '') || ' ' || body)) STORED,
	CONSTRAINT "ticket_messages_author_type" CHECK ("ticket_messages"."author_type" in ('tenant', 'provider')),
	CONSTRAINT "ticket_messages_internal" CHECK (not "ticket_messages"."internal" or "ticket_messages"."author_type" = 'provider')
);
--> statement-breakpoint
CREATE TABLE "tickets" (
	"id" uuid PRIMARY KEY NOT NULL,
	"org_id" uuid NOT NULL,
	"cluster_id" uuid,
	"subject" text NOT NULL,
	"category" text NOT NULL,
	"severity" text NOT NULL,
	"status" text NOT NULL,
	"created_by" uuid,
	"assigned_to" uuid,
	"first_response_at" timestamp (3) with time zone,
	"resolved_at" timestamp (3) with time zone,
	"awaiting_since" timestamp (3) with time zone,
	"respond_by" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"last_message_number" integer NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "tickets_status" CHECK ("tickets"."status" in ('open', 'in_progress', 'waiting', 'resolved', 'closed')),
	CONSTRAINT "tickets_severity" CHECK ("tickets"."severity" in ('low', 'medium', 'high', 'critical')),
	CONSTRAINT "tickets_category" CHECK ("tickets"."category" in ('cluster', 'networking', 'storage', 'identity', 'billing', 'feature_request', 'general'))
);
--> statement-breakpoint
CREATE TABLE "user_quotas" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"organizations" integer,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "api_tokens" ADD CONSTRAINT "api_tokens_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_tokens" ADD CONSTRAINT "api_tokens_created_by_users_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "budget_alerts" ADD CONSTRAINT "budget_alerts_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "budgets" ADD CONSTRAINT "budgets_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "credit_note_lines" ADD CONSTRAINT "credit_note_lines_credit_note_id_credit_notes_id_fk" FOREIGN KEY ("credit_note_id") REFERENCES "public"."credit_notes"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "credit_notes" ADD CONSTRAINT "credit_notes_invoice_id_invoices_id_fk" FOREIGN KEY ("invoice_id") REFERENCES "public"."invoices"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invoice_daily_costs" ADD CONSTRAINT "invoice_daily_costs_invoice_id_invoices_id_fk" FOREIGN KEY ("invoice_id") REFERENCES "public"."invoices"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invoice_lines" ADD CONSTRAINT "invoice_lines_invoice_id_invoices_id_fk" FOREIGN KEY ("invoice_id") REFERENCES "public"."invoices"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "billing_profiles" ADD CONSTRAINT "billing_profiles_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_intervals" ADD CONSTRAINT "usage_intervals_evidence_id_usage_evidence_id_fk" FOREIGN KEY ("evidence_id") REFERENCES "public"."usage_evidence"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_intervals" ADD CONSTRAINT "usage_intervals_correction_of_usage_intervals_id_fk" FOREIGN KEY ("correction_of") REFERENCES "public"."usage_intervals"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "kubeconfig_revocations" ADD CONSTRAINT "kubeconfig_revocations_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "observed_accesses" ADD CONSTRAINT "observed_accesses_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_quotas" ADD CONSTRAINT "organization_quotas_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_webhook_id_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "public"."webhooks"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_event_id_webhook_events_id_fk" FOREIGN KEY ("event_id") REFERENCES "public"."webhook_events"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_queues" ADD CONSTRAINT "webhook_queues_webhook_id_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "public"."webhooks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_secrets" ADD CONSTRAINT "webhook_secrets_webhook_id_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "public"."webhooks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registry_credentials" ADD CONSTRAINT "registry_credentials_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registry_push_grants" ADD CONSTRAINT "registry_push_grants_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registry_scan_turns" ADD CONSTRAINT "registry_scan_turns_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registry_scans" ADD CONSTRAINT "registry_scans_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registry_images" ADD CONSTRAINT "registry_images_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registry_usage" ADD CONSTRAINT "registry_usage_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "storage_quotas" ADD CONSTRAINT "storage_quotas_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ticket_attachments" ADD CONSTRAINT "ticket_attachments_ticket_id_tickets_id_fk" FOREIGN KEY ("ticket_id") REFERENCES "public"."tickets"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ticket_attachments" ADD CONSTRAINT "ticket_attachments_message_id_ticket_messages_id_fk" FOREIGN KEY ("message_id") REFERENCES "public"."ticket_messages"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ticket_attachments" ADD CONSTRAINT "ticket_attachments_created_by_users_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ticket_messages" ADD CONSTRAINT "ticket_messages_ticket_id_tickets_id_fk" FOREIGN KEY ("ticket_id") REFERENCES "public"."tickets"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ticket_messages" ADD CONSTRAINT "ticket_messages_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tickets" ADD CONSTRAINT "tickets_org_id_organizations_id_fk" FOREIGN KEY ("org_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tickets" ADD CONSTRAINT "tickets_created_by_users_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tickets" ADD CONSTRAINT "tickets_assigned_to_users_id_fk" FOREIGN KEY ("assigned_to") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_quotas" ADD CONSTRAINT "user_quotas_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_tokens_org_idx" ON "api_tokens" USING btree ("org_id","id");--> statement-breakpoint
CREATE INDEX "audit_log_position_idx" ON "audit_log" USING btree ("position");--> statement-breakpoint
CREATE INDEX "audit_log_org_idx" ON "audit_log" USING btree ("org_id","position");--> statement-breakpoint
CREATE INDEX "audit_log_org_action_idx" ON "audit_log" USING btree ("org_id","action","position");--> statement-breakpoint
CREATE INDEX "audit_log_action_idx" ON "audit_log" USING btree ("action","position");--> statement-breakpoint
CREATE INDEX "audit_log_actor_idx" ON "audit_log" USING gin ("actor" jsonb_path_ops);--> statement-breakpoint
CREATE INDEX "audit_log_unplaced_idx" ON "audit_log" USING btree ("id") WHERE "audit_log"."position" is null;--> statement-breakpoint
CREATE INDEX "budgets_next_check_idx" ON "budgets" USING btree ("next_check_at") WHERE "budgets"."next_check_at" is not null;--> statement-breakpoint
CREATE INDEX "credit_notes_invoice_idx" ON "credit_notes" USING btree ("invoice_id");--> statement-breakpoint
CREATE INDEX "credit_notes_org_idx" ON "credit_notes" USING btree ("org_id","id");--> statement-breakpoint
CREATE INDEX "month_closes_open_idx" ON "month_closes" USING btree ("period") WHERE "month_closes"."finished_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "usage_evidence_sequence_key" ON "usage_evidence" USING btree ("sequence");--> statement-breakpoint
CREATE UNIQUE INDEX "usage_intervals_running_key" ON "usage_intervals" USING btree ("subject","resource_type") WHERE "usage_intervals"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "usage_intervals_subject_idx" ON "usage_intervals" USING btree ("subject","resource_type");--> statement-breakpoint
CREATE INDEX "usage_intervals_pool_idx" ON "usage_intervals" USING btree ("node_pool_id") WHERE "usage_intervals"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "usage_intervals_organization_idx" ON "usage_intervals" USING btree ("organization_id",coalesce("ended_at", 'infinity'::timestamptz));--> statement-breakpoint
CREATE INDEX "kubeconfig_revocations_lease_idx" ON "kubeconfig_revocations" USING btree ("lease_expires_at");--> statement-breakpoint
CREATE INDEX "kubeconfig_revocations_org_idx" ON "kubeconfig_revocations" USING btree ("org_id","lease_expires_at");--> statement-breakpoint
CREATE INDEX "observed_accesses_live_idx" ON "observed_accesses" USING btree ("uid") WHERE "observed_accesses"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "observed_accesses_ended_idx" ON "observed_accesses" USING btree ("ended_at");--> statement-breakpoint
CREATE INDEX "cluster_intents_pending_idx" ON "cluster_intents" USING btree ("started_at") WHERE "cluster_intents"."state" = 'pending';--> statement-breakpoint
CREATE INDEX "write_intents_started_idx" ON "write_intents" USING btree ("started_at");--> statement-breakpoint
CREATE INDEX "write_intents_uid_idx" ON "write_intents" USING btree ("uid");--> statement-breakpoint
CREATE INDEX "system_events_recorded_idx" ON "system_events" USING btree ("recorded_at");--> statement-breakpoint
CREATE UNIQUE INDEX "system_events_source_key" ON "system_events" USING btree ("event_uid","event_count");--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "members_org_email_key" ON "members" USING btree ("org_id",lower("email"));--> statement-breakpoint
CREATE UNIQUE INDEX "members_org_user_key" ON "members" USING btree ("org_id","user_id");--> statement-breakpoint
CREATE INDEX "members_user_idx" ON "members" USING btree ("user_id","org_id");--> statement-breakpoint
CREATE INDEX "members_invited_email_idx" ON "members" USING btree (lower("email")) WHERE "members"."user_id" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "organizations_slug_key" ON "organizations" USING btree ("slug") WHERE "organizations"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "organizations_creator_idx" ON "organizations" USING btree ("created_by") WHERE "organizations"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_webhook_idx" ON "webhook_deliveries" USING btree ("webhook_id","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_pending_idx" ON "webhook_deliveries" USING btree ("webhook_id","next_attempt_at") WHERE "webhook_deliveries"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "webhook_deliveries_event_idx" ON "webhook_deliveries" USING btree ("event_id");--> statement-breakpoint
CREATE INDEX "webhook_events_org_idx" ON "webhook_events" USING btree ("org_id","created_at");--> statement-breakpoint
CREATE INDEX "webhook_events_created_idx" ON "webhook_events" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "webhook_queues_due_idx" ON "webhook_queues" USING btree ("due_at") WHERE "webhook_queues"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "webhook_secrets_webhook_idx" ON "webhook_secrets" USING btree ("webhook_id","id");--> statement-breakpoint
CREATE INDEX "webhook_secrets_key_idx" ON "webhook_secrets" USING btree ("key_id");--> statement-breakpoint
CREATE INDEX "webhooks_org_idx" ON "webhooks" USING btree ("org_id","id");--> statement-breakpoint
CREATE INDEX "cluster_records_org_idx" ON "cluster_records" USING btree ("org_id","id");--> statement-breakpoint
CREATE INDEX "name_reservations_object_idx" ON "name_reservations" USING btree ("object_id");--> statement-breakpoint
CREATE INDEX "node_pool_records_cluster_idx" ON "node_pool_records" USING btree ("cluster_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "projected_clusters_id_key" ON "projected_clusters" USING btree ("id") WHERE "projected_clusters"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "projected_clusters_object_key" ON "projected_clusters" USING btree ("namespace","name") WHERE "projected_clusters"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "projected_clusters_org_idx" ON "projected_clusters" USING btree ("org_id","id") WHERE "projected_clusters"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "projected_node_pools_org_idx" ON "projected_node_pools" USING btree ("org_id") WHERE "projected_node_pools"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "projected_node_pools_id_key" ON "projected_node_pools" USING btree ("id") WHERE "projected_node_pools"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "projected_node_pools_object_key" ON "projected_node_pools" USING btree ("namespace","name") WHERE "projected_node_pools"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "projected_node_pools_cluster_idx" ON "projected_node_pools" USING btree ("cluster_id","id") WHERE "projected_node_pools"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "projection_watches_seen_idx" ON "projection_watches" USING btree ("seen_at");--> statement-breakpoint
CREATE UNIQUE INDEX "transitions_once_key" ON "transitions" USING btree ("object_id","type","at");--> statement-breakpoint
CREATE UNIQUE INDEX "transitions_lifetime_key" ON "transitions" USING btree ("object_id","type") WHERE "transitions"."type" in ('created', 'ready', 'deleted');--> statement-breakpoint
CREATE INDEX "quota_reservations_org_idx" ON "quota_reservations" USING btree ("org_id");--> statement-breakpoint
CREATE INDEX "registry_credentials_org_idx" ON "registry_credentials" USING btree ("org_id","id");--> statement-breakpoint
CREATE INDEX "registry_scans_pending_idx" ON "registry_scans" USING btree ("org_id","priority","due_at") WHERE "registry_scans"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "stream_tickets_expiry_idx" ON "stream_tickets" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "ticket_attachments_ticket_idx" ON "ticket_attachments" USING btree ("ticket_id","id");--> statement-breakpoint
CREATE INDEX "ticket_attachments_message_idx" ON "ticket_attachments" USING btree ("message_id");--> statement-breakpoint
CREATE INDEX "ticket_attachments_unswept_idx" ON "ticket_attachments" USING btree ("created_at") WHERE not "ticket_attachments"."upload_removed" or "ticket_attachments"."message_id" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "ticket_messages_number_key" ON "ticket_messages" USING btree ("ticket_id","number");--> statement-breakpoint
CREATE INDEX "ticket_messages_search_idx" ON "ticket_messages" USING gin ("search") WITH (fastupdate=false);--> statement-breakpoint
CREATE INDEX "tickets_org_idx" ON "tickets" USING btree ("org_id","id");--> statement-breakpoint
CREATE INDEX "tickets_status_idx" ON "tickets" USING btree ("status","id");--> statement-breakpoint
CREATE INDEX "tickets_severity_idx" ON "tickets" USING btree ("severity","id");--> statement-breakpoint
CREATE INDEX "tickets_category_idx" ON "tickets" USING btree ("category","id");--> statement-breakpoint
CREATE INDEX "tickets_assigned_idx" ON "tickets" USING btree ("assigned_to","id") WHERE "tickets"."assigned_to" is not null;--> statement-breakpoint
CREATE INDEX "tickets_unassigned_idx" ON "tickets" USING btree ("id") WHERE "tickets"."assigned_to" is null;--> statement-breakpoint
CREATE INDEX "tickets_respond_by_idx" ON "tickets" USING btree ("respond_by") WHERE "tickets"."respond_by" is not null;--> statement-breakpoint
-- Written by hand below: what the tables in TypeScript do not express.
CREATE FUNCTION "audit_log_keep"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'UPDATE' AND OLD.position IS NULL AND NEW.position IS NOT NULL
		AND to_jsonb(NEW) - 'position' = to_jsonb(OLD) - 'position' THEN
		RETURN NEW;
	END IF;
	RAISE EXCEPTION 'audit_log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;--> statement-breakpoint
-- The API server's role owns no table: it adds and drops partitions by these two functions alone.
CREATE FUNCTION "audit_log_add_partitions"(since timestamptz, months_ahead integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
	first_day timestamp := date_trunc('month', since AT TIME ZONE 'UTC');
	last_day timestamp := date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => months_ahead);
	partition text;
BEGIN
	PERFORM pg_advisory_xact_lock(hashtextextended('marina:audit-partitions', 0));
	WHILE first_day <= last_day LOOP
		partition := to_char(first_day, 'YYYY_MM');
		IF to_regclass(format('audit_log_partitions.%I', partition)) IS NULL THEN
			EXECUTE format(
				'CREATE TABLE audit_log_partitions.%I PARTITION OF public.audit_log FOR VALUES FROM (%L) TO (%L)',
				partition,
				first_day AT TIME ZONE 'UTC',
				(first_day + interval '1 month') AT TIME ZONE 'UTC'
			);
		END IF;
		first_day := first_day + interval '1 month';
	END LOOP;
END $$;--> statement-breakpoint
CREATE FUNCTION "audit_log_drop_partitions"(retention_days integer) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
	partition text;
BEGIN
	IF retention_days < 30 THEN
		RAISE EXCEPTION 'the audit log is kept for 30 days at least' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM pg_advisory_xact_lock(hashtextextended('marina:audit-partitions', 0));
	FOR partition IN
		-- Materialized, or other tables' names would be read as months.
		WITH partitions AS MATERIALIZED (
			SELECT tablename FROM pg_tables WHERE schemaname = 'audit_log_partitions'
		)
		SELECT tablename FROM partitions
		WHERE (to_date(tablename, 'YYYY_MM') + interval '1 month') AT TIME ZONE 'UTC'
			<= now() - make_interval(days => retention_days)
		ORDER BY tablename
	LOOP
		EXECUTE format('DROP TABLE audit_log_partitions.%I', partition);
		RETURN NEXT partition;
	END LOOP;
END $$;--> statement-breakpoint
REVOKE ALL ON FUNCTION "audit_log_add_partitions"(timestamptz, integer) FROM PUBLIC;--> statement-breakpoint
REVOKE ALL ON FUNCTION "audit_log_drop_partitions"(integer) FROM PUBLIC;--> statement-breakpoint
SELECT "audit_log_add_partitions"(now(), 12);--> statement-breakpoint
CREATE TRIGGER "audit_log_append_only" BEFORE UPDATE OR DELETE ON "audit_log" FOR EACH ROW EXECUTE FUNCTION "audit_log_keep"();--> statement-breakpoint
CREATE TRIGGER "audit_log_no_truncate" BEFORE TRUNCATE ON "audit_log" FOR EACH STATEMENT EXECUTE FUNCTION "audit_log_keep"();--> statement-breakpoint
-- How many messages have a word decides how it is searched: Postgres keeps the figures of 10,000 words rather than 1,000.
ALTER TABLE "ticket_messages" ALTER COLUMN "search" SET STATISTICS 1000;--> statement-breakpoint
CREATE FUNCTION "usage_intervals_keep"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'UPDATE' AND OLD.ended_at IS NULL AND to_jsonb(NEW) - 'ended_at' = to_jsonb(OLD) - 'ended_at' THEN
		RETURN NEW;
	END IF;
	RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;--> statement-breakpoint
CREATE FUNCTION "usage_evidence_keep"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;--> statement-breakpoint
CREATE TRIGGER "usage_evidence_append_only" BEFORE UPDATE OR DELETE ON "usage_evidence" FOR EACH ROW EXECUTE FUNCTION "usage_evidence_keep"();--> statement-breakpoint
CREATE TRIGGER "usage_evidence_no_truncate" BEFORE TRUNCATE ON "usage_evidence" FOR EACH STATEMENT EXECUTE FUNCTION "usage_evidence_keep"();--> statement-breakpoint
CREATE TRIGGER "usage_intervals_append_only" BEFORE UPDATE OR DELETE ON "usage_intervals" FOR EACH ROW EXECUTE FUNCTION "usage_intervals_keep"();--> statement-breakpoint
CREATE TRIGGER "usage_intervals_no_truncate" BEFORE TRUNCATE ON "usage_intervals" FOR EACH STATEMENT EXECUTE FUNCTION "usage_intervals_keep"();--> statement-breakpoint
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
	('00000000-0000-7000-8000-000000000010', 'public_ip', 4, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}');--> statement-breakpoint
INSERT INTO "package_terms" ("id", "slug", "monthly_price_eur", "control_plane_replicas", "control_planes", "vcpus", "memory_gb", "disk_gb", "retired", "effective_from", "changed_by") VALUES
	('00000000-0000-7000-8000-000000000011', 'dev', 19, 1, 1, 2, 4, 40, false, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000012', 'starter', 59, 1, 1, 4, 8, 80, false, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000013', 'growth', 199, 3, 1, 16, 32, 320, false, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}'),
	('00000000-0000-7000-8000-000000000014', 'scale', 699, 3, 1, 64, 128, 1280, false, '2020-01-01T00:00:00Z', '{"kind": "system", "name": "migration"}');

ALTER TABLE "projected_node_pools" drop column "quota_nodes";--> statement-breakpoint
ALTER TABLE "projected_node_pools" ADD COLUMN "quota_nodes" integer GENERATED ALWAYS AS (case
  when coalesce(((object -> 'spec' ->> 'maxVCPUs')::int), 0) > coalesce(((object -> 'spec' ->> 'minVCPUs')::int), 0) or coalesce(((object -> 'spec' ->> 'maxMemoryGB')::int), 0) > coalesce(((object -> 'spec' ->> 'minMemoryGB')::int), 0)
  then greatest(1, least(1000, ((object -> 'spec' ->> 'maxVCPUs')::int) / ((object -> 'spec' ->> 'vcpus')::int), ((object -> 'spec' ->> 'maxMemoryGB')::int) / ((object -> 'spec' ->> 'memoryGB')::int)))
  else ((object -> 'spec' ->> 'desiredNodes')::int) end) STORED;--> statement-breakpoint
ALTER TABLE "projected_node_pools" drop column "quota_vcpus";--> statement-breakpoint
ALTER TABLE "projected_node_pools" ADD COLUMN "quota_vcpus" integer GENERATED ALWAYS AS ((case
  when coalesce(((object -> 'spec' ->> 'maxVCPUs')::int), 0) > coalesce(((object -> 'spec' ->> 'minVCPUs')::int), 0) or coalesce(((object -> 'spec' ->> 'maxMemoryGB')::int), 0) > coalesce(((object -> 'spec' ->> 'minMemoryGB')::int), 0)
  then greatest(1, least(1000, ((object -> 'spec' ->> 'maxVCPUs')::int) / ((object -> 'spec' ->> 'vcpus')::int), ((object -> 'spec' ->> 'maxMemoryGB')::int) / ((object -> 'spec' ->> 'memoryGB')::int)))
  else ((object -> 'spec' ->> 'desiredNodes')::int) end) * ((object -> 'spec' ->> 'vcpus')::int)) STORED;--> statement-breakpoint
ALTER TABLE "projected_node_pools" drop column "quota_memory_gb";--> statement-breakpoint
ALTER TABLE "projected_node_pools" ADD COLUMN "quota_memory_gb" integer GENERATED ALWAYS AS ((case
  when coalesce(((object -> 'spec' ->> 'maxVCPUs')::int), 0) > coalesce(((object -> 'spec' ->> 'minVCPUs')::int), 0) or coalesce(((object -> 'spec' ->> 'maxMemoryGB')::int), 0) > coalesce(((object -> 'spec' ->> 'minMemoryGB')::int), 0)
  then greatest(1, least(1000, ((object -> 'spec' ->> 'maxVCPUs')::int) / ((object -> 'spec' ->> 'vcpus')::int), ((object -> 'spec' ->> 'maxMemoryGB')::int) / ((object -> 'spec' ->> 'memoryGB')::int)))
  else ((object -> 'spec' ->> 'desiredNodes')::int) end) * ((object -> 'spec' ->> 'memoryGB')::int)) STORED;
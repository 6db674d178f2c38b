import { sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";

/** Counts over all webhooks. */
export interface Figures {
  pending: number;
  oldestSeconds: number;
  overdueSeconds: number;
  disabled: Record<"gone" | "failing" | "tenant", number>;
}

/** Counts pending deliveries, including those that are not made of their event yet, and disabled webhooks. */
export async function readDeliveryFigures(db: Queryable): Promise<Figures> {
  const [row] = await db.execute<Omit<Figures, "disabled"> & Figures["disabled"]>(sql`
    select made.count + awaited.count as pending, greatest(made.age, awaited.age) as "oldestSeconds",
      greatest(overdue.age, awaited.age) as "overdueSeconds", disabled.*
    from (
      select count(*)::float8 as count, coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as age
      from webhook_deliveries where status = 'pending'
    ) made, (
      select coalesce(sum(cardinality(pending_webhook_ids)), 0)::float8 as count,
        coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as age
      from webhook_events where pending_webhook_ids is not null
    ) awaited, (
      select coalesce(greatest(0, extract(epoch from now() - min(due_at))), 0)::float8 as age from webhook_queues
    ) overdue, (
      select count(*) filter (where disabled_reason = 'gone')::float8 as gone,
        count(*) filter (where disabled_reason = 'failing')::float8 as failing,
        count(*) filter (where disabled_reason is null)::float8 as tenant
      from webhooks where not enabled and deleted_at is null
    ) disabled`);
  if (row === undefined) throw new Error("no figures");
  const { gone, failing, tenant, ...figures } = row;
  return { ...figures, disabled: { gone, failing, tenant } };
}

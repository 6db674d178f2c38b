import { sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";

/** Counts over all webhooks. */
export interface Figures {
  pending: number;
  oldestSeconds: number;
  overdueSeconds: number;
  disabled: Record<"gone" | "failing" | "tenant", number>;
}

/** Counts pending deliveries and disabled webhooks. */
export async function readDeliveryFigures(db: Queryable): Promise<Figures> {
  const [row] = await db.execute<Omit<Figures, "disabled"> & Figures["disabled"]>(sql`
    select pending.*, disabled.*,
      coalesce((select greatest(0, extract(epoch from now() - min(due_at))) from webhook_queues), 0)::float8 as "overdueSeconds"
    from (
      select count(*)::float8 as pending,
        coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as "oldestSeconds"
      from webhook_deliveries where status = 'pending'
    ) pending, (
      select count(*) filter (where disabled_reason = 'gone')::float8 as gone,
        count(*) filter (where disabled_reason = 'failing')::float8 as failing,
        count(*) filter (where disabled_reason is null)::float8 as tenant
      from webhooks where not enabled and deleted_at is null
    ) disabled`);
  if (row === undefined) throw new Error("no figures");
  const { gone, failing, tenant, ...figures } = row;
  return { ...figures, disabled: { gone, failing, tenant } };
}

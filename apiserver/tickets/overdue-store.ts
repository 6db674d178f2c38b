import { count, lt } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { type TicketSeverity, tickets } from "./table.ts";

/** How many tickets of each severity are overdue, over all organizations; those without one are left out. */
export async function countOverdue(db: Queryable, now: Date): Promise<Map<TicketSeverity, number>> {
  const rows = await db
    .select({ severity: tickets.severity, total: count() })
    .from(tickets)
    .where(lt(tickets.respondBy, now))
    .groupBy(tickets.severity);
  return new Map(rows.map(({ severity, total }) => [severity, total]));
}

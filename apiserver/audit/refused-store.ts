import { lt, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { refusedRequests } from "./table.ts";

export type RefusedRequests = typeof refusedRequests.$inferSelect;

/** Counts one request; returns how many there were in this hour. */
export async function countRefusedRequest(
  tx: Queryable,
  request: Omit<RefusedRequests, "count">,
): Promise<number> {
  const { hour, actorId, operationId } = refusedRequests;
  const [row] = await tx
    .insert(refusedRequests)
    .values({ ...request, count: 1 })
    .onConflictDoUpdate({
      target: [hour, actorId, operationId],
      set: { count: sql`${refusedRequests.count} + 1` },
    })
    .returning({ count: refusedRequests.count });
  return row?.count ?? 1;
}

/** Removes and returns the counts of all hours before `before`. */
export async function takeRefusedRequests(tx: Queryable, before: Date): Promise<RefusedRequests[]> {
  return tx.delete(refusedRequests).where(lt(refusedRequests.hour, before)).returning();
}

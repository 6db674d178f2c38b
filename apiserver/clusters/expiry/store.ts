import { sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";

/** Until the end of the transaction no other process decides that this object is deleted for its end date. */
export async function lockExpiry(tx: Queryable, id: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`marina expiry ${id}`}, 0))`);
}

import { sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";

/** So many months lie ready: an API server that did not run for that long still finds a partition for its first entry. */
const MONTHS_AHEAD = 12;

/** Makes sure that there is a partition for every month from that of `now` to twelve months later. */
export async function addAuditPartitions(db: Database, now: Date): Promise<void> {
  await db.execute(sql`select audit_log_add_partitions(${now.toISOString()}::timestamptz, ${MONTHS_AHEAD})`);
}

/**
 * Drops the partitions whose newest possible entry is more than `retentionDays` old, and returns their names. The
 * database refuses less than 30 days.
 */
export async function dropOldAuditPartitions(db: Database, retentionDays: number): Promise<string[]> {
  const rows = await db.execute<{ partition: string }>(
    sql`select audit_log_drop_partitions(${retentionDays}) as partition`,
  );
  return rows.map(({ partition }) => partition);
}

import type { Sql } from "./client.ts";

/** Whether Postgres responds; rejects when it refuses. The caller sets the deadline. */
export async function probeDatabase(sql: Sql): Promise<boolean> {
  const rows = await sql`select 1`;
  return rows.length === 1;
}

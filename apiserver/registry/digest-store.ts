import { and, eq, inArray } from "drizzle-orm";
import type { AnyPgColumn, PgTable } from "drizzle-orm/pg-core";
import type { Queryable } from "../db/client.ts";
import { chunk } from "../db/statement.ts";

type DigestTable = PgTable & {
  orgId: AnyPgColumn<{ data: string }>;
  digest: AnyPgColumn<{ data: string; notNull: true }>;
};

/** Which of these digests of an organization have a row in the table. */
export async function findKnownDigests(
  db: Queryable,
  table: DigestTable,
  orgId: string,
  digests: readonly string[],
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const part of chunk(digests)) {
    const rows = await db
      .select({ digest: table.digest })
      .from(table)
      .where(and(eq(table.orgId, orgId), inArray(table.digest, part)));
    for (const { digest } of rows) found.add(digest);
  }
  return found;
}

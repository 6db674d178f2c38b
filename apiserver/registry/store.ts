import { sql } from "drizzle-orm";
import type { Database, Queryable } from "../db/client.ts";
import { lockOrganization } from "../organizations/index.ts";
import { registryScans } from "./scans/table.ts";
import { findUsage } from "./usage/store.ts";
import { registryUsage } from "./usage/table.ts";

/**
 * Records, before an organization is given a token to push, that it may have images from now on. Throws 404 for a
 * deleted organization and 409 while it is being deleted, which must not overlook what is pushed with the token.
 */
export async function recordPushGrant(db: Database, orgId: string): Promise<void> {
  if ((await findUsage(db, orgId)) !== undefined) return;
  await db.transaction(async (tx) => {
    await lockOrganization(tx, orgId);
    await tx.insert(registryUsage).values({ orgId }).onConflictDoNothing();
  });
}

/**
 * Whether anything could be pushed for an organization: it was given a token to push, or the registry reported an
 * image. The latter also holds for a push with a token of an API server that did not record it.
 */
export async function mayHaveImages(db: Queryable, orgId: string): Promise<boolean> {
  const of = (table: typeof registryScans | typeof registryUsage) =>
    sql`exists (select from ${table} where ${table.orgId} = ${orgId})`;
  const [row] = await db.execute<{ may: boolean }>(
    sql`select ${of(registryScans)} or ${of(registryUsage)} as may`,
  );
  return row?.may === true;
}

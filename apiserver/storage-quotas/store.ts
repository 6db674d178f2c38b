import { eq, isNull, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { organizations } from "../organizations/index.ts";
import { storageQuotas } from "./table.ts";

/** The storage quota that is set for one organization. */
export interface StorageQuota {
  /** In GiB; null: the platform's default. */
  configuredGB: number | null;
  /** 0: never set. */
  version: number;
}

/** The storage quota of an organization, whether it exists or not. */
export async function readStorageQuota(db: Queryable, orgId: string): Promise<StorageQuota> {
  const [row] = await db.select().from(storageQuotas).where(eq(storageQuotas.orgId, orgId));
  return { configuredGB: row?.quotaGB ?? null, version: row?.version ?? 0 };
}

/** The configured limits in GiB of all organizations that are not deleted. */
export async function listConfiguredLimits(
  db: Queryable,
): Promise<{ orgId: string; configuredGB: number | null }[]> {
  return db
    .select({ orgId: organizations.id, configuredGB: storageQuotas.quotaGB })
    .from(organizations)
    .leftJoin(storageQuotas, eq(storageQuotas.orgId, organizations.id))
    .where(isNull(organizations.deletedAt));
}

/** Sets the storage quota of an organization. */
export async function upsertStorageQuota(
  tx: Queryable,
  orgId: string,
  { configuredGB, version }: StorageQuota,
): Promise<void> {
  const set = { quotaGB: configuredGB, version, updatedAt: sql`now()` };
  await tx
    .insert(storageQuotas)
    .values({ orgId, ...set })
    .onConflictDoUpdate({ target: storageQuotas.orgId, set });
}

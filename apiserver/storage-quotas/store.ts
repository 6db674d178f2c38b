import { eq, isNull, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { organizations } from "../organizations/index.ts";

/** The storage quota that is set for one organization. */
export interface StorageQuota {
  /** In GiB; null: the platform's default. */
  configuredGB: number | null;
  /** 0: never set. */
  version: number;
}

/** The storage quota of an organization, whether it exists or not. */
export async function readStorageQuota(db: Queryable, orgId: string): Promise<StorageQuota> {
  const { storageQuotaGB: configuredGB, storageQuotaVersion: version } = organizations;
  const [row] = await db
    .select({ configuredGB, version })
    .from(organizations)
    .where(eq(organizations.id, orgId));
  return row ?? { configuredGB: null, version: 0 };
}

/** The configured limits in GiB of all organizations that are not deleted. */
export async function listConfiguredLimits(
  db: Queryable,
): Promise<{ orgId: string; configuredGB: number | null }[]> {
  return db
    .select({ orgId: organizations.id, configuredGB: organizations.storageQuotaGB })
    .from(organizations)
    .where(isNull(organizations.deletedAt));
}

/** Sets the storage quota of an organization. */
export async function updateStorageQuota(
  tx: Queryable,
  orgId: string,
  { configuredGB, version }: StorageQuota,
): Promise<void> {
  await tx
    .update(organizations)
    .set({ storageQuotaGB: configuredGB, storageQuotaVersion: version, storageQuotaUpdatedAt: sql`now()` })
    .where(eq(organizations.id, orgId));
}

import { BYTES_PER_GIB } from "../../shared/crd/storage-inventory.ts";
import { recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { ApiError } from "../http/errors.ts";
import { lockOrganization } from "../organizations/index.ts";
import { auditStorageQuota } from "./present.ts";
import { readStorageQuota, type StorageQuota, upsertStorageQuota } from "./store.ts";

export interface StorageQuotaChange {
  orgId: string;
  before: StorageQuota;
  /** The limit to set, in GiB; null is the platform's default. */
  configuredGB: number | null;
  defaultGB: number;
  /** Bytes that the organization stores; null when that is not known. */
  usedBytes: number | null;
}

/** The storage quota, under the organization's row lock. Throws 404 and 409. */
export async function lockStorageQuota(tx: Queryable, orgId: string): Promise<StorageQuota> {
  await lockOrganization(tx, orgId);
  return readStorageQuota(tx, orgId);
}

/**
 * Sets the storage quota of an organization. Throws 409 quota_below_usage for a lower limit than before that is below what
 * is stored. That check is advisory: it is skipped without a figure, and what is stored may grow meanwhile.
 */
export async function setStorageQuota(
  tx: Queryable,
  origin: Origin,
  { orgId, before, configuredGB, defaultGB, usedBytes }: StorageQuotaChange,
): Promise<StorageQuota> {
  const limitGB = configuredGB ?? defaultGB;
  if (isBelowUsage({ limitGB, formerGB: before.configuredGB ?? defaultGB, usedBytes }))
    throw new ApiError(
      "quota_below_usage",
      `The organization stores ${usedBytes} bytes, more than the ${limitGB} GiB that it would be limited to.`,
    );
  const after = { configuredGB, version: before.version + 1 };
  await upsertStorageQuota(tx, orgId, after);
  await recordAudit(tx, origin, {
    action: "organization.set_storage_quota",
    orgId,
    target: { kind: "organization", id: orgId },
    before: auditStorageQuota(before),
    after: auditStorageQuota(after),
    result: "done",
  });
  return after;
}

/** Whether a limit is lowered below what is stored; never without a figure. */
export function isBelowUsage({
  limitGB,
  formerGB,
  usedBytes,
}: {
  limitGB: number;
  formerGB: number;
  usedBytes: number | null;
}): boolean {
  return usedBytes !== null && limitGB < formerGB && limitGB * BYTES_PER_GIB < usedBytes;
}

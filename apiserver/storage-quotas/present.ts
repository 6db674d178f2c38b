import { createHash } from "node:crypto";
import type { z } from "@hono/zod-openapi";
import type { ObservedStorage } from "./observed.ts";
import type { storageQuotaRecord } from "./schema.ts";
import type { StorageQuota } from "./store.ts";

/** The wire form of a storage quota. */
export function presentStorageQuota(
  { configuredGB }: StorageQuota,
  defaultGB: number,
  { quotaBytes, usedBytes }: ObservedStorage,
): z.output<typeof storageQuotaRecord> {
  return {
    configured_gb: configuredGB,
    effective_gb: configuredGB ?? defaultGB,
    default_gb: defaultGB,
    observed_quota_bytes: quotaBytes,
    observed_used_bytes: usedBytes,
  };
}

/** The entity tag: the version of the setting, which If-Match compares, and a hash of what else the record shows. */
export function storageQuotaTag(
  { version }: StorageQuota,
  record: z.output<typeof storageQuotaRecord>,
): string {
  return `"${version}-${createHash("sha256").update(JSON.stringify(record)).digest("hex").slice(0, 16)}"`;
}

/** What the audit log keeps of a storage quota. */
export function auditStorageQuota({ configuredGB }: Pick<StorageQuota, "configuredGB">) {
  return { quota_gb: configuredGB };
}

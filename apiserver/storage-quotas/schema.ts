import { z } from "@hono/zod-openapi";
import { MAX_STORAGE_QUOTA_GB, MIN_STORAGE_QUOTA_GB } from "../../shared/crd/storage-inventory.ts";

const gibibytes = () => z.int().min(MIN_STORAGE_QUOTA_GB).max(MAX_STORAGE_QUOTA_GB);

const bytesField = (description: string, example: number) =>
  z.int().min(0).max(Number.MAX_SAFE_INTEGER).nullable().openapi({ format: "int64", description, example });

const EXAMPLE = {
  configured_gb: 200,
  effective_gb: 200,
  default_gb: 100,
  observed_quota_bytes: 214_748_364_800,
  observed_used_bytes: 5_368_709_120,
};

export const storageQuotaRecord = z
  .object({
    configured_gb: gibibytes().nullable().openapi({
      description: "The organization's own limit in GiB; null while the platform's default applies.",
      example: EXAMPLE.configured_gb,
    }),
    effective_gb: gibibytes().openapi({
      description: "The limit in force, in GiB.",
      example: EXAMPLE.effective_gb,
    }),
    default_gb: gibibytes().openapi({
      description: "The platform's default in GiB.",
      example: EXAMPLE.default_gb,
    }),
    observed_quota_bytes: bytesField(
      "The limit that the storage enforces now; null without a figure of the last 15 minutes.",
      EXAMPLE.observed_quota_bytes,
    ),
    observed_used_bytes: bytesField(
      "Bytes stored; null without a figure of the last 15 minutes.",
      EXAMPLE.observed_used_bytes,
    ),
  })
  .openapi("StorageQuota", { example: EXAMPLE });

export const setStorageQuotaBody = z
  .strictObject({
    quota_gb: gibibytes().nullable().openapi({
      description: "The organization's limit in GiB; null restores the platform's default.",
      example: 200,
    }),
  })
  .openapi("SetStorageQuota", { example: { quota_gb: 200 } });

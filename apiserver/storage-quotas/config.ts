import { z } from "zod";
import {
  DEFAULT_STORAGE_QUOTA_GB,
  MAX_STORAGE_QUOTA_GB,
  MIN_STORAGE_QUOTA_GB,
} from "../../shared/crd/storage-inventory.ts";

export const storageQuotaVariables = z
  .object({
    MARINA_DEFAULT_STORAGE_QUOTA_GB: z.coerce
      .number()
      .int()
      .min(MIN_STORAGE_QUOTA_GB)
      .max(MAX_STORAGE_QUOTA_GB)
      .default(DEFAULT_STORAGE_QUOTA_GB),
  })
  .transform((env) => ({
    /** The limit of the shared storage of an organization for which none is set; the operator's must be the same. */
    defaultStorageQuotaGB: env.MARINA_DEFAULT_STORAGE_QUOTA_GB,
  }));

import { z } from "zod";
import { defineKind, type ObjectMeta } from "../kube/kind.ts";
import { conditionsSchema } from "./conditions.ts";
import { integer, observedGenerationSchema, timestamp } from "./fields.ts";
import { GROUP, VERSION } from "./names.ts";
import { type Rule, withRules } from "./rule.ts";

export const storageInventoryConditionTypes = ["Ready", "Reconciling", "Stalled"] as const;
export type StorageInventoryConditionType = (typeof storageInventoryConditionTypes)[number];

/** Name of the only StorageInventory of an organization. */
export const STORAGE_INVENTORY_NAME = "shared-storage";

export const BYTES_PER_GIB = 2 ** 30;
/** Bounds of a limit of an organization's shared storage, in GiB; 0 would be no limit to the storage. */
export const MIN_STORAGE_QUOTA_GB = 1;
export const MAX_STORAGE_QUOTA_GB = 10_240;
/** The limit of an organization whose inventory names none, unless the configuration names another. */
export const DEFAULT_STORAGE_QUOTA_GB = 100;

const storageInventoryFields = z
  .object({
    quotaBytes: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional().meta({
      description:
        "Limit of the organization's shared storage in bytes, at least 1. Absent means the platform's default. 0 is rejected, because storage backends treat it as unlimited.",
    }),
  })
  .meta({ description: "Desired state of the shared storage." });

export const storageInventoryRules: readonly Rule<z.output<typeof storageInventoryFields>>[] = [
  {
    field: "quotaBytes",
    code: "out_of_range",
    message: "must be at least 1; omit it for the platform's default",
    cel: "!has(self.quotaBytes) || self.quotaBytes >= 1",
    holds: (spec) => spec.quotaBytes === undefined || spec.quotaBytes >= 1,
  },
];

export const storageInventorySpecSchema = withRules(storageInventoryFields, storageInventoryRules);

export const storageInventoryStatusSchema = z
  .object({
    observedGeneration: observedGenerationSchema.optional(),
    conditions: conditionsSchema(storageInventoryConditionTypes).optional(),
    quotaBytes: integer(
      0,
      Number.MAX_SAFE_INTEGER,
      "The limit in effect, in bytes; absent without one.",
    ).optional(),
    usedBytes: integer(0, Number.MAX_SAFE_INTEGER, "Bytes in use.").optional(),
    observedAt: timestamp(
      "When usedBytes was measured. A value older than 15 minutes is ignored.",
    ).optional(),
  })
  .meta({ description: "Observed state of the shared storage. Written by the storage provisioner." });

export type StorageInventorySpec = z.output<typeof storageInventorySpecSchema>;
export type StorageInventoryStatus = z.output<typeof storageInventoryStatusSchema>;
export interface StorageInventory {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: StorageInventorySpec;
  status?: StorageInventoryStatus;
}

export const storageInventoryKind = defineKind<StorageInventory>({
  group: GROUP,
  version: VERSION,
  kind: "StorageInventory",
  plural: "storageinventories",
  namespaced: true,
});

import { z } from "zod";
import { defineKind, type ObjectMeta } from "../kube/kind.ts";
import { conditionsSchema } from "./conditions.ts";
import { integer, observedGenerationSchema, timestamp } from "./fields.ts";
import { GROUP, VERSION } from "./names.ts";
import { type Rule, withRules } from "./rule.ts";

export const storageInventoryConditionTypes = ["Ready", "Reconciling", "Stalled"] as const;
export type StorageInventoryConditionType = (typeof storageInventoryConditionTypes)[number];

/** The one StorageInventory of an organization. */
export const STORAGE_INVENTORY_NAME = "shared-storage";

const storageInventoryFields = z
  .object({
    quotaBytes: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional().meta({
      description:
        "Most bytes of shared storage that the organization may use, at least 1. Absent means no limit. 0 is refused, because a storage backend reads it as unlimited.",
    }),
  })
  .meta({ description: "The shared storage as it is wanted." });

export const storageInventoryRules: readonly Rule<z.output<typeof storageInventoryFields>>[] = [
  {
    field: "quotaBytes",
    code: "out_of_range",
    message: "must be at least 1; leave it out for no limit",
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
      "The limit that is in force, in bytes; absent without one.",
    ).optional(),
    usedBytes: integer(0, Number.MAX_SAFE_INTEGER, "Bytes in use.").optional(),
    observedAt: timestamp(
      "When the figures were taken. Figures older than 15 minutes do not count.",
    ).optional(),
  })
  .meta({ description: "The shared storage as it was last observed. Written by the storage provisioner." });

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

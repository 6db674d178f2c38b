import { z } from "@hono/zod-openapi";
import { MAX_QUOTA, QUOTA_NAMES, type QuotaName } from "../../shared/crd/quota.ts";
import { countField } from "../http/contract/fields.ts";

/** The quotas by their names on the wire. */
export const QUOTA_WIRE_NAMES = {
  clusters: "clusters",
  nodePools: "node_pools",
  nodes: "nodes",
  vcpus: "vcpus",
  memoryGB: "memory_gb",
} as const satisfies Record<QuotaName, string>;

const names = QUOTA_NAMES.map((name) => QUOTA_WIRE_NAMES[name]);

const quotaEffectRecord = z
  .object({
    name: z.enum(names).openapi({ description: "The quota." }),
    limit: countField(MAX_QUOTA, "What the organization may have.", 100),
    used: countField(MAX_QUOTA, "What it uses now.", 9),
    delta: z
      .int()
      .min(-MAX_QUOTA)
      .max(MAX_QUOTA)
      .openapi({ description: "What the request adds or, negative, frees.", example: 3 }),
    projected: countField(MAX_QUOTA, "What it uses afterwards.", 12),
  })
  .openapi("QuotaEffect", { description: "The effect on one quota." });

export type QuotaEffect = z.output<typeof quotaEffectRecord>;

/** The effect of a request on every quota. */
export const quotaEffectsField = z
  .array(quotaEffectRecord)
  .max(QUOTA_NAMES.length)
  .openapi({ description: "The effect on every quota." });

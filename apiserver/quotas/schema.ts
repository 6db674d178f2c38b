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

const MAX_NODES = 1_000_000;

const EXAMPLE_EFFECTS = {
  quota: [{ name: "nodes", limit: 100, used: 9, delta: 3, projected: 12 }],
  nodes_replaced: 0,
  nodes_added: 3,
  nodes_removed: 0,
} as const;

/** What a request would do beyond the record itself. */
export const effectsRecord = z
  .object({
    quota: z
      .array(quotaEffectRecord)
      .max(QUOTA_NAMES.length)
      .openapi({ description: "The effect on every quota." }),
    nodes_replaced: countField(MAX_NODES, "Nodes that are replaced by new ones.", 3),
    nodes_added: countField(
      MAX_NODES,
      "Nodes beyond those that exist; of an autoscaled pool as far as it must grow.",
      3,
    ),
    nodes_removed: countField(MAX_NODES, "Nodes that are removed without a replacement."),
  })
  .openapi("Effects", {
    description: "What the request does beyond the record itself.",
    example: EXAMPLE_EFFECTS,
  });

export type Effects = z.output<typeof effectsRecord>;
export type NodeEffects = Omit<Effects, "quota">;

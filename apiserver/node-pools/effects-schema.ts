import { z } from "@hono/zod-openapi";
import { costEffectRecord } from "../billing/index.ts";
import { countField } from "../http/contract/fields.ts";
import { quotaEffectsField } from "../quotas/index.ts";

const MAX_NODES = 1_000_000;

const EXAMPLE_EFFECTS = {
  quota: [{ name: "nodes", limit: 100, used: 9, delta: 3, projected: 12 }],
  nodes_replaced: 0,
  nodes_added: 3,
  nodes_removed: 0,
  cost: {
    currency: "EUR",
    monthly_eur_before: 20,
    monthly_eur_after: 59,
    monthly_eur_max: 59,
    resource_types: [
      { resource_type: "control_plane", monthly_eur_before: 20, monthly_eur_after: 20 },
      { resource_type: "vcpu", monthly_eur_before: 0, monthly_eur_after: 39 },
    ],
  },
} as const;

/** What a request would do beyond the record itself. */
export const effectsRecord = z
  .object({
    quota: quotaEffectsField,
    nodes_replaced: countField(MAX_NODES, "Nodes that are replaced by new ones.", 3),
    nodes_added: countField(
      MAX_NODES,
      "Nodes beyond those that exist; of an autoscaled pool as far as it must grow.",
      3,
    ),
    nodes_removed: countField(MAX_NODES, "Nodes that are removed without a replacement."),
    cost: costEffectRecord,
  })
  .openapi("Effects", {
    description: "What the request does beyond the record itself.",
    example: EXAMPLE_EFFECTS,
  });

export type Effects = z.output<typeof effectsRecord>;
export type NodeEffects = Omit<Effects, "quota" | "cost">;

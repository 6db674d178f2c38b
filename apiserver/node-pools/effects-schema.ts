import { z } from "@hono/zod-openapi";
import { costEffectRecord } from "../billing/index.ts";
import { countField, textField } from "../http/contract/fields.ts";
import { DETAIL_CODES, MAX_DETAILS, MAX_FIELD_LENGTH, MAX_MESSAGE_LENGTH } from "../http/errors.ts";
import { quotaEffectsField } from "../quotas/index.ts";

const MAX_NODES = 1_000_000;

const EXAMPLE_EFFECTS = {
  quota: [{ name: "nodes", limit: 100, used: 9, delta: 3, projected: 12 }],
  nodes_replaced: 0,
  nodes_added: 3,
  nodes_removed: 0,
  warnings: [],
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

const warningRecord = z
  .object({
    field: textField(MAX_FIELD_LENGTH, "The path of the field in the body.", "public_endpoint"),
    code: z.enum(DETAIL_CODES).openapi({ description: "The reason." }),
    message: textField(MAX_MESSAGE_LENGTH, "A sentence for people."),
  })
  .openapi("EffectWarning", {
    example: {
      field: "public_endpoint",
      code: "unsupported",
      message: "The cluster class standard-v1 does not support a private endpoint.",
    },
  });

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
    warnings: z
      .array(warningRecord)
      .max(MAX_DETAILS)
      .openapi({ description: "What the request would be accepted with and yet not get." }),
    cost: costEffectRecord,
  })
  .openapi("Effects", {
    description: "What the request does beyond the record itself.",
    example: EXAMPLE_EFFECTS,
  });

export type Effects = z.output<typeof effectsRecord>;
export type NodeEffects = Omit<Effects, "quota" | "cost" | "warnings">;

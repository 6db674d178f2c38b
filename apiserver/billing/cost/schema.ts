import { z } from "@hono/zod-openapi";
import { currencyField, eurosField, meteredTypeField } from "../fields-schema.ts";

const MAX_RESOURCE_TYPES = 32;

const beforeField = eurosField("What it costs in a full month as it is, net.", 59);
const afterField = eurosField("What it costs in a full month after the request, net.", 69);

const resourceCostRecord = z
  .object({
    resource_type: meteredTypeField,
    monthly_eur_before: beforeField,
    monthly_eur_after: afterField,
  })
  .openapi("ResourceCostEffect", { description: "The effect on what one resource type costs." });

/** What a request does to the price of a cluster. */
export const costEffectRecord = z
  .object({
    currency: currencyField,
    monthly_eur_before: beforeField,
    monthly_eur_after: afterField,
    monthly_eur_max: eurosField(
      "What it costs at most after the request: in a full month with every autoscaled node pool at its maximum.",
      89,
    ),
    resource_types: z
      .array(resourceCostRecord)
      .max(MAX_RESOURCE_TYPES)
      .openapi({ description: "The same by resource type." }),
  })
  .openapi("CostEffect", {
    description:
      "The effect on what the cluster costs in a full month at the prices that hold, net. An autoscaled node pool counts with the nodes that it has.",
  });

export type CostEffect = z.output<typeof costEffectRecord>;

import { z } from "@hono/zod-openapi";
import { textField } from "../http/contract/fields.ts";
import { DETAIL_CODES, MAX_FIELD_LENGTH, MAX_MESSAGE_LENGTH } from "../http/errors.ts";

export const warningRecord = z
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

/** More objects are not listed. */
export const MAX_LEFTOVERS = 1_000;

const EXAMPLE_OBJECT = { kind: "Service", namespace: "default", name: "web" };

const tenantObjectRecord = z
  .object({
    kind: textField(63, "Its kind.", "Service"),
    namespace: textField(63, "Its namespace; null: it is in none.").nullable(),
    name: textField(600, "Its name.", "web"),
  })
  .openapi("TenantObject", { description: "An object in the cluster.", example: EXAMPLE_OBJECT });

export type TenantObject = z.output<typeof tenantObjectRecord>;

const unknownRecord = z
  .object({ unknown: textField(MAX_MESSAGE_LENGTH, "Why, as a sentence for people.") })
  .openapi("Unknown", {
    description: "What could not be read in the cluster.",
    example: { unknown: "The cluster did not answer within 5 s." },
  });

/** What a dry run reads in the cluster itself; absent where the request does not concern it. */
export const tenantEffects = {
  leftovers: z
    .union([z.array(tenantObjectRecord).max(MAX_LEFTOVERS), unknownRecord])
    .optional()
    .openapi({
      description:
        "Of the deletion of a cluster: what may stay at the provider and cost money. Services of type LoadBalancer, and PersistentVolumes that are bound or whose reclaim policy is Retain.",
      example: [EXAMPLE_OBJECT],
    }),
};

import { z } from "@hono/zod-openapi";
import { conditionStatuses } from "../../shared/crd/conditions.ts";
import { CHECK_SEVERITIES, UPGRADE_CHECKS } from "../../shared/tenant/upgrade/upgrade-check.ts";
import { textField, timestampField } from "../http/contract/fields.ts";
import { DETAIL_CODES, MAX_FIELD_LENGTH, MAX_MESSAGE_LENGTH } from "../http/errors.ts";

const conditionRecord = z
  .object({
    type: textField(64, "What the condition is about.", "Ready"),
    status: z.enum(conditionStatuses).openapi({ description: "Whether it holds." }),
    reason: textField(128, "Why, as a CamelCase word for programs.", "Available"),
    message: textField(4096, "Why, as a sentence for people."),
    last_transition_time: timestampField("When its status changed last."),
  })
  .openapi("Condition", {
    description: "One condition.",
    example: {
      type: "Ready",
      status: "True",
      reason: "Available",
      message: "The cluster is running.",
      last_transition_time: "2026-11-21T09:01:00.000Z",
    },
  });

/** The conditions in the record of a cluster or a node pool. */
export function conditionsField(description: string) {
  return z.array(conditionRecord).max(32).openapi({ description });
}

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

const EXAMPLE_CHECK = {
  check: "pods_not_evictable",
  severity: "blocking",
  object: { kind: "PodDisruptionBudget", namespace: "shop", name: "web" },
  message: "The disruption budget allows no eviction: it asks for 2 ready pods and has 2.",
  fix: "Run more replicas or let the budget allow one eviction, and make pods ready that are not.",
} as const;

/** More checks are not listed. */
const MAX_CHECKS = 500;

const upgradeCheckRecord = z
  .object({
    check: z.enum(UPGRADE_CHECKS).openapi({
      description:
        "What was found: pods that no drain can evict, a webhook that refuses what it is asked about, an API in use that the version no longer has, a node whose kubelet the version does not support, a certificate of the control plane that ends soon, or what could not be read.",
    }),
    severity: z.enum(CHECK_SEVERITIES).openapi({
      description:
        "blocking: the upgrade waits for it, or something no longer works after it, until somebody acts.",
    }),
    object: tenantObjectRecord,
    message: textField(MAX_MESSAGE_LENGTH, "What was found, as a sentence for people."),
    fix: textField(MAX_MESSAGE_LENGTH, "What to do about it."),
  })
  .openapi("UpgradeCheck", { description: "What an upgrade finds.", example: EXAMPLE_CHECK });

/** What an upgrade finds, or why that is not known. */
export function upgradeChecksField(description: string) {
  return z
    .union([z.array(upgradeCheckRecord).max(MAX_CHECKS), unknownRecord])
    .openapi({ description, example: [EXAMPLE_CHECK] });
}

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
  checks: upgradeChecksField(
    "Of a request that changes the version: what the upgrade finds in the cluster. It is accepted all the same, unless upgrade_checks is enforce and one of them is blocking.",
  ).optional(),
};

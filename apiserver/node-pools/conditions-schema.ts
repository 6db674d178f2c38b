import { z } from "@hono/zod-openapi";
import { conditionStatuses } from "../../shared/crd/conditions.ts";
import { textField, timestampField } from "../http/contract/fields.ts";

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

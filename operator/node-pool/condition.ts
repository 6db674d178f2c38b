import type { NewCondition } from "../../shared/controller/conditions.ts";
import { clipConditionMessage } from "../../shared/crd/conditions.ts";
import type { NodePoolConditionType } from "../../shared/crd/node-pool.ts";

export type PoolCondition = NewCondition<NodePoolConditionType>;

/** A condition with its message cut to the maximum length. */
export function poolCondition(
  type: NodePoolConditionType,
  status: "True" | "False" | "Unknown",
  reason: string,
  message: string,
): PoolCondition {
  return { type, status, reason, message: clipConditionMessage(message) };
}

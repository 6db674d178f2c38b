import { autoscalingRange, findMaximaBelowOneNode, isAutoscaled } from "../../shared/crd/autoscaling.ts";
import type { NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { count } from "../../shared/plural.ts";
import { type PoolCondition, poolCondition } from "./condition.ts";
import type { ObservedPool } from "./observe.ts";

/** Whether the cluster autoscaler manages the number of nodes. */
export function decideAutoscaling({ pool, autoscaler }: ObservedPool): PoolCondition {
  const type = "Autoscaling";
  if (!isAutoscaled(pool.spec)) {
    return poolCondition(
      type,
      "False",
      "FixedSize",
      "The pool has the number of nodes that its owner specified.",
    );
  }
  if (!autoscaler.configured) {
    const message =
      "The platform runs no cluster autoscaler; ask its operator for one. The number of nodes stays as it is.";
    return poolCondition(type, "False", "NotConfigured", message);
  }
  const available = autoscaler.deployment?.available;
  if (available?.status === "True") {
    return poolCondition(type, "True", "Enabled", describeRange(pool.spec));
  }
  if (available?.status === "False") {
    const message =
      "The cluster autoscaler does not run, so the number of nodes stays as it is. If this lasts, ask the platform's operator to look at it.";
    return poolCondition(type, "False", "AutoscalerUnavailable", message);
  }
  return poolCondition(type, "Unknown", "WaitingForAutoscaler", "The cluster autoscaler is starting.");
}

function describeRange(spec: NodePoolSpec): string {
  const { minNodes, maxNodes } = autoscalingRange(spec);
  const range =
    minNodes === maxNodes
      ? `The autoscaler keeps the pool at ${count(minNodes, "node")}.`
      : `The autoscaler keeps the pool between ${minNodes} and ${count(maxNodes, "node")}.`;
  const exceeded = findMaximaBelowOneNode(spec);
  if (exceeded.length === 0) return range;
  return `${range} One node is allowed although it exceeds ${exceeded.join(" and ")}.`;
}

import { autoscalingRange, isAutoscaled } from "../../shared/crd/autoscaling.ts";
import { nameAutoscaler } from "../autoscaler/children.ts";
import { condition, type PoolCondition } from "./condition.ts";
import type { ObservedPool } from "./observe.ts";

/** Whether the cluster autoscaler manages the number of nodes. */
export function decideAutoscaling({ pool, autoscaler }: ObservedPool): PoolCondition {
  const type = "Autoscaling";
  if (!isAutoscaled(pool.spec)) {
    return condition(
      type,
      "False",
      "FixedSize",
      "The pool has the number of nodes that its owner specified.",
    );
  }
  if (!autoscaler.configured) {
    const message =
      "The platform runs no cluster autoscaler; ask its operator for one. The number of nodes stays as it is.";
    return condition(type, "False", "NotConfigured", message);
  }
  const available = autoscaler.deployment?.available;
  if (available?.status === "True") {
    const { minNodes, maxNodes } = autoscalingRange(pool.spec);
    const message = `The autoscaler keeps the pool between ${minNodes} and ${maxNodes} nodes.`;
    return condition(type, "True", "Enabled", message);
  }
  if (available?.status === "False") {
    const deployment = nameAutoscaler(`${pool.metadata.namespace}/${pool.spec.clusterName}`);
    const message = `The cluster autoscaler does not run: ${available.message ?? "no reason given"}. If this lasts, ask the platform's operator to look at the Deployment ${deployment}.`;
    return condition(type, "False", "AutoscalerUnavailable", message);
  }
  return condition(type, "Unknown", "WaitingForAutoscaler", "The cluster autoscaler is starting.");
}

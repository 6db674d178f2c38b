import { type ConditionLike, findCondition } from "../../shared/controller/conditions.ts";
import type { ClusterConditionType, ClusterPhase } from "../../shared/crd/cluster.ts";
import { DEGRADED_REASONS } from "./health.ts";

type Conditions = readonly ConditionLike<ClusterConditionType>[];

/** The phase summarizes the conditions for people; it is never read back. */
export function projectClusterPhase(conditions: Conditions): ClusterPhase {
  const ready = findCondition(conditions, "Ready");
  if (ready?.reason === "Deleting") return "Deleting";
  if (isDegraded(conditions)) return "Degraded";
  if (ready?.status !== "True") {
    return findCondition(conditions, "Stalled")?.status === "True" ? "Failed" : "Provisioning";
  }
  if (findCondition(conditions, "Upgrading")?.status === "True") return "Upgrading";
  return findCondition(conditions, "WorkersReady")?.status === "False" ? "Scaling" : "Ready";
}

/** Whether a cluster that was ready before is degraded. */
export function isDegraded(conditions: Conditions): boolean {
  const ready = findCondition(conditions, "Ready");
  return ready?.status === "False" && DEGRADED_REASONS.includes(ready.reason);
}

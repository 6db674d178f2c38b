import { type ConditionLike, findCondition } from "../../shared/controller/conditions.ts";
import type { ClusterConditionType, ClusterStatus, ClusterTransition } from "../../shared/crd/cluster.ts";
import { isDegraded, projectClusterPhase } from "./phase.ts";

type NewTransition = Omit<ClusterTransition, "sequence" | "at">;

/** What happened to a cluster between two statuses; for programs that must not miss it. */
export function findTransitions(
  last: ClusterStatus | undefined,
  next: Pick<ClusterStatus, "firstReadyAt" | "version"> & {
    conditions: readonly ConditionLike<ClusterConditionType>[];
  },
): NewTransition[] {
  const before = last?.conditions ?? [];
  const ready = findCondition(next.conditions, "Ready");
  const version = next.version === undefined ? {} : { version: next.version };
  const reason = ready === undefined ? {} : { reason: ready.reason };
  const transitions: NewTransition[] = [];
  if (last?.firstReadyAt === undefined && next.firstReadyAt !== undefined) {
    transitions.push({ type: "Ready", ...version });
  }
  if (last?.version !== undefined && next.version !== undefined && last.version !== next.version) {
    transitions.push({ type: "Upgraded", version: next.version, previousVersion: last.version });
  }
  if (isDegraded(next.conditions) && !isDegraded(before)) {
    transitions.push({ type: "Degraded", ...version, ...reason });
  }
  if (isDegraded(before) && ready?.status === "True") transitions.push({ type: "Recovered", ...version });
  if (projectClusterPhase(next.conditions) === "Failed" && projectClusterPhase(before) !== "Failed") {
    transitions.push({ type: "Failed", ...reason });
  }
  return transitions;
}

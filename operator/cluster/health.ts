import {
  type ConditionLike,
  conditionAgeMs,
  findCondition,
  type Problem,
} from "../../shared/controller/conditions.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { INFRASTRUCTURE_LOST } from "../../shared/crd/conditions.ts";
import { earliest } from "../../shared/program/time.ts";
import { describeUnhealthyNodes } from "../node-pool/conditions.ts";

/** Conditions that degrade a cluster when they are False for long enough; the worst first. */
const HEALTH_CONDITIONS = [
  { type: "ControlPlaneReady", reason: "ControlPlaneUnavailable" },
  { type: "EndpointReachable", reason: "EndpointUnreachable" },
] as const;

/** The reasons for which a cluster is degraded. */
export const DEGRADED_REASONS: readonly string[] = [
  ...HEALTH_CONDITIONS.map(({ reason }) => reason),
  "NodesUnhealthy",
  INFRASTRUCTURE_LOST,
];

/**
 * Why a cluster that was ready before is degraded, by its own conditions, whose times survive a restart: one of them
 * has been False for `degradedAfterSeconds`, or nodes are unhealthy (they have a threshold of their own). Undefined =
 * healthy. One that is degraded has not recovered while any of them is False.
 */
export function checkHealth(
  cluster: Cluster,
  conditions: readonly ConditionLike[],
  unhealthyNodes: readonly string[],
  degradedAfterSeconds: number,
  now: Date,
): { degraded: Problem | undefined; requeueAfterMs: number | undefined } {
  if (cluster.status?.firstReadyAt === undefined) return { degraded: undefined, requeueAfterMs: undefined };
  const isDegraded = DEGRADED_REASONS.includes(
    findCondition(cluster.status.conditions, "Ready")?.reason ?? "",
  );
  const failing = HEALTH_CONDITIONS.flatMap(({ type, reason }) => {
    const condition = findCondition(conditions, type);
    if (condition?.status !== "False") return [];
    const dueInMs = isDegraded ? 0 : degradedAfterSeconds * 1000 - conditionAgeMs(condition, now);
    return [{ reason, message: condition.message, dueInMs }];
  });
  const requeueAfterMs = earliest(failing.map(({ dueInMs }) => dueInMs).filter((ms) => ms > 0));
  const due = failing.find(({ dueInMs }) => dueInMs <= 0);
  if (due !== undefined) return { degraded: due, requeueAfterMs };
  if (unhealthyNodes.length === 0) return { degraded: undefined, requeueAfterMs };
  const degraded = { reason: "NodesUnhealthy", message: describeUnhealthyNodes(unhealthyNodes) };
  return { degraded, requeueAfterMs };
}

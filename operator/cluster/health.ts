import { type ConditionLike, findCondition, heldForMs } from "../../shared/controller/conditions.ts";
import { earliest } from "../../shared/controller/earliest.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";

/** What is wrong with a cluster that was ready before. */
export interface Ailment {
  reason: "ControlPlaneUnavailable" | "EndpointUnreachable" | "NodesUnhealthy";
  message: string;
}

/** Conditions whose loss, for long enough, makes a cluster degraded; the worst first. */
const SIGNS = [
  { type: "ControlPlaneReady", reason: "ControlPlaneUnavailable" },
  { type: "EndpointReachable", reason: "EndpointUnreachable" },
] as const;

/**
 * Judges a cluster by its own conditions, whose times survive a restart: a sign counts when it has been False for
 * `degradedAfterSeconds`; sick nodes have waited for their own threshold before. Ends by itself.
 */
export function judgeHealth(
  cluster: Cluster,
  conditions: readonly ConditionLike[],
  sickNodes: readonly string[],
  degradedAfterSeconds: number,
  now: Date,
): { ailment: Ailment | undefined; requeueAfterMs: number | undefined } {
  if (cluster.status?.firstReadyAt === undefined) return { ailment: undefined, requeueAfterMs: undefined };
  const thresholdMs = degradedAfterSeconds * 1000;
  const signs = SIGNS.flatMap(({ type, reason }) => {
    const condition = findCondition(conditions, type);
    if (condition?.status !== "False") return [];
    return [{ reason, message: condition.message, dueInMs: thresholdMs - heldForMs(condition, now) }];
  });
  const pending = signs.filter((sign) => sign.dueInMs > 0).map((sign) => sign.dueInMs);
  const requeueAfterMs = earliest(pending);
  const due = signs.find((sign) => sign.dueInMs <= 0);
  if (due !== undefined) return { ailment: due, requeueAfterMs };
  if (sickNodes.length === 0) return { ailment: undefined, requeueAfterMs };
  const message = `Nodes that are not healthy: ${sickNodes.join(", ")}. The engine replaces them where its health checks say so; replace them by hand if they stay.`;
  return { ailment: { reason: "NodesUnhealthy", message }, requeueAfterMs };
}

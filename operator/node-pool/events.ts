import { findCondition } from "../../shared/controller/conditions.ts";
import { identifyChange, referTo } from "../../shared/controller/event-object.ts";
import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { LABEL_CLUSTER_ID, LABEL_NODE_POOL_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import { type NodePool, type NodePoolStatus, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { count } from "../../shared/program/wording.ts";
import { findLongWait } from "../events/long-wait.ts";
import { displayNameOf } from "../identity/identity.ts";
import type { MachineStage } from "./deletion.ts";
import type { ObservedPool } from "./observe.ts";
import { composeId } from "./status.ts";

/** What the operator does to a pool, as the `action` of its Events. */
type Action = "Create" | "Scale" | "Upgrade" | "Update" | "ReplaceNode" | "Delete";

interface PoolEvent {
  type: "Normal" | "Warning";
  reason: string;
  action: Action;
  message: string;
}

/** What a cluster waits for, and each of its pools with it: the Event is the cluster's. */
const REASONS_OF_CLUSTER = ["WaitingForControlPlane", "ClusterAPIUnavailable", "Suspended", "Paused"];

/**
 * The Events of a pool: one for each change of phase, for each replaced node, for a problem that a person has to solve,
 * and for a long wait. A pool that was created a moment before its cluster is not reported.
 */
export function composePoolEvents(observed: ObservedPool, next: NodePoolStatus, stage: MachineStage) {
  const { pool } = observed;
  const last = pool.status;
  const events: RecordedEvent[] = [];
  const record = (event: PoolEvent) => events.push(composePoolEvent(observed, event));
  for (const { type, oldNode, newNode, reason } of findNewTransitions(last, next)) {
    if (type !== "NodeReplaced") continue;
    const message = `The node ${oldNode} was replaced by ${newNode} (${reason}).`;
    record({ type: "Normal", reason: type, action: "ReplaceNode", message });
  }
  const action = findAction(last, next);
  const phase = next.phase ?? "Provisioning";
  const reconciling = findCondition(next.conditions, "Reconciling");
  if (phase !== last?.phase && reconciling?.reason !== "WaitingForCluster") {
    const type = phase === "Failed" ? "Warning" : "Normal";
    const reason = phase === "Scaling" ? (reconciling?.reason ?? phase) : phase;
    const message = describePhase(pool, next);
    const since = reconciling?.lastTransitionTime;
    const event = composePoolEvent(observed, { type, reason, action, message });
    events.push({ ...event, dedupeKey: identifyChange(event, pool.metadata.generation, since) });
  }
  const stalled = findCondition(next.conditions, "Stalled");
  const wasStalled = findCondition(last?.conditions, "Stalled")?.status === "True";
  if (stalled?.status === "True" && !wasStalled && phase !== "Failed") {
    record({ type: "Warning", reason: stalled.reason, action, message: stalled.message });
  }
  const held = findCondition(next.conditions, "ExpiryHeld");
  if (held !== undefined && findCondition(last?.conditions, "ExpiryHeld")?.reason !== held.reason)
    record({ type: "Warning", reason: "ExpiryHeld", action: "Delete", message: held.message });
  const isScaling = reconciling?.reason === "Scaling";
  const isChanging = isScaling || reconciling?.reason === "Updating";
  const takesItsTime = (isChanging && stage === "infrastructure") || (isScaling && stage === "joining");
  const mayFollowLateNode =
    takesItsTime || (isScaling && stage === undefined) || reconciling?.reason === "WaitingForNodes";
  const wait = findLongWait(last, next, { takesItsTime, mayFollowLateNode });
  if (wait !== undefined && !REASONS_OF_CLUSTER.includes(wait.reason)) record({ action, ...wait });
  return events;
}

/** One Event about a pool, with the labels by which it is found by pool and by cluster. */
export function composePoolEvent(
  observed: ObservedPool,
  { type, reason, action, message }: PoolEvent,
): RecordedEvent {
  const { pool, cluster } = observed;
  const id = idOf(pool) ?? composeId(observed).id;
  const labels = {
    [LABEL_SOURCE]: "operator",
    ...(id !== undefined && { [LABEL_NODE_POOL_ID]: id }),
    ...(cluster?.id !== undefined && { [LABEL_CLUSTER_ID]: cluster.id }),
  };
  const note = `Node pool ${displayNameOf(pool)}: ${message}`;
  return { regarding: referTo(nodePoolKind, pool.metadata), type, reason, action, note, labels };
}

function findNewTransitions(last: NodePoolStatus | undefined, next: NodePoolStatus) {
  const known = last?.transitions?.at(-1)?.sequence ?? 0;
  return (next.transitions ?? []).filter(({ sequence }) => sequence > known);
}

/** The action of which these Events report the progress or the failure. */
function findAction(last: NodePoolStatus | undefined, next: NodePoolStatus): Action {
  if (next.phase === "Deleting") return "Delete";
  if (last?.firstReadyAt === undefined) return "Create";
  const reasons = [last, next].map((status) => findCondition(status?.conditions, "UpToDate")?.reason);
  if (reasons.includes("RollingOut") || reasons.includes("UpgradeInProgress")) return "Upgrade";
  const isScaling = [last, next].some(
    (status) => findCondition(status.conditions, "Scaling")?.status === "True",
  );
  return isScaling ? "Scale" : "Update";
}

function describePhase(pool: NodePool, next: NodePoolStatus): string {
  const messageOf = (type: "Stalled" | "Reconciling") => findCondition(next.conditions, type)?.message;
  switch (next.phase) {
    case "Ready":
      return `Nodes ready: ${next.readyNodes ?? 0} of ${next.nodes ?? 0}.`;
    case "Failed":
      return messageOf("Stalled") ?? "failed";
    case "Deleting":
      return `it is being deleted with ${count(pool.status?.nodes ?? 0, "node")}.`;
    default:
      return messageOf("Reconciling") ?? "changing";
  }
}

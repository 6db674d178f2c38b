import { findCondition } from "../../shared/controller/conditions.ts";
import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { referTo } from "../../shared/controller/reference.ts";
import { LABEL_CLUSTER_ID, LABEL_ID, LABEL_NODE_POOL_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import { type NodePool, type NodePoolStatus, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { ObservedPool } from "./observe.ts";

/** Progress is slow by nature; a Warning about it would cry wolf. */
const PROGRESS = new Set(["RollingOut", "UpgradeInProgress"]);

/**
 * What people read of a pool: one Event for each change of phase, for each node that was replaced, and when a wait has
 * lasted. A pool that was made a moment before its cluster is no news.
 */
export function composePoolEvents(observed: ObservedPool, next: NodePoolStatus): RecordedEvent[] {
  const { pool } = observed;
  const last = pool.status;
  const events: RecordedEvent[] = [];
  const tell = (type: "Normal" | "Warning", reason: string, note: string) =>
    events.push(composePoolEvent(observed, type, reason, note));
  const known = last?.transitions?.at(-1)?.sequence ?? 0;
  for (const { sequence, type, oldNode, newNode, reason } of next.transitions ?? []) {
    if (type !== "NodeReplaced" || sequence <= known) continue;
    tell("Normal", type, `The node ${oldNode} was replaced by ${newNode} (${reason}).`);
  }
  const phase = next.phase ?? "Provisioning";
  const reconciling = findCondition(next.conditions, "Reconciling");
  if (phase !== last?.phase && reconciling?.reason !== "WaitingForCluster") {
    tell(phase === "Failed" ? "Warning" : "Normal", phase, describe(pool, next));
  }
  const stalled = findCondition(next.conditions, "Stalled");
  const stalledBefore = findCondition(last?.conditions, "Stalled");
  if (stalled?.status === "True" && stalledBefore?.status !== "True" && phase !== "Failed") {
    tell("Warning", stalled.reason, stalled.message);
  }
  const waits = findLongWait(last, next);
  if (waits !== undefined) tell("Warning", waits.reason, waits.message);
  return events;
}

/** One Event about a pool, found by pool and by cluster. */
export function composePoolEvent(
  observed: ObservedPool,
  type: "Normal" | "Warning",
  reason: string,
  words: string,
): RecordedEvent {
  const { pool, cluster, candidateId } = observed;
  const labels = {
    [LABEL_SOURCE]: "operator",
    [LABEL_NODE_POOL_ID]: pool.metadata.labels?.[LABEL_ID] ?? candidateId,
    ...(cluster?.id !== undefined && { [LABEL_CLUSTER_ID]: cluster.id }),
  };
  const note = `Node pool ${pool.spec.displayName ?? pool.metadata.name}: ${words}`;
  return { regarding: referTo(nodePoolKind, pool.metadata), type, reason, action: "Reconcile", note, labels };
}

/** A wait of which the status has begun to speak, or speaks for another reason than before. */
function findLongWait(
  last: NodePoolStatus | undefined,
  next: NodePoolStatus,
): { reason: string; message: string } | undefined {
  const reconciling = findCondition(next.conditions, "Reconciling");
  if (reconciling?.status !== "True" || next.message !== reconciling.message) return undefined;
  const before = findCondition(last?.conditions, "Reconciling");
  const told = last?.message !== undefined && before?.reason === reconciling.reason;
  return told || PROGRESS.has(reconciling.reason) ? undefined : reconciling;
}

function describe(pool: NodePool, next: NodePoolStatus): string {
  const messageOf = (type: "Stalled" | "Reconciling") => findCondition(next.conditions, type)?.message;
  switch (next.phase) {
    case "Ready":
      return `${next.readyNodes ?? 0} of ${next.nodes ?? 0} nodes are ready.`;
    case "Failed":
      return messageOf("Stalled") ?? "failed";
    case "Deleting":
      return `it is being deleted with ${pool.status?.nodes ?? 0} nodes.`;
    default:
      return messageOf("Reconciling") ?? "changing";
  }
}

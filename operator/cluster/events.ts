import { type ClusterPhase, type ClusterStatus, clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_CLUSTER_ID, LABEL_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import { engineClusterKind } from "../engine/kinds.ts";
import { findCondition } from "../runtime/conditions.ts";
import type { RecordedEvent } from "../runtime/recorder.ts";
import { referTo } from "../runtime/reference.ts";
import type { ObservedCluster } from "./observe.ts";

/**
 * What people read in `kubectl describe`: one Event for each change of phase, for an upgrade that ended, and when only
 * the user can help. Programs take the transitions of the status.
 */
export function composePhaseEvents(observed: ObservedCluster, next: ClusterStatus): RecordedEvent[] {
  const last = observed.cluster.status;
  const events: RecordedEvent[] = [];
  const tell = (type: "Normal" | "Warning", reason: string, note: string) =>
    events.push(composeEvent(observed, type, reason, note));
  if (last?.version !== undefined && last.version !== next.version) {
    tell("Normal", "Upgraded", `Kubernetes ${next.version} runs everywhere; it was ${last.version}.`);
  }
  const stalled = findCondition(next.conditions, "Stalled");
  const stalledBefore = findCondition(last?.conditions, "Stalled");
  if (stalled?.status === "True" && stalled.reason !== stalledReason(stalledBefore)) {
    tell("Warning", stalled.reason, stalled.message);
  }
  const waits = findLongWait(last, next);
  if (waits !== undefined) tell("Warning", waits.reason, waits.message);
  const phase = next.phase ?? "Provisioning";
  if (phase !== last?.phase && phase !== "Failed") {
    tell(phase === "Degraded" ? "Warning" : "Normal", reasonOf(phase, last), describe(phase, observed, next));
  }
  return events;
}

/** Progress is slow by nature; a Warning about it would cry wolf. */
const PROGRESS = new Set(["Upgrading", "RollingOut"]);

/** A wait of which the status has begun to speak, or speaks for another reason than before. */
function findLongWait(
  last: ClusterStatus | undefined,
  next: ClusterStatus,
): { reason: string; message: string } | undefined {
  const reconciling = findCondition(next.conditions, "Reconciling");
  if (reconciling?.status !== "True" || next.message !== reconciling.message) return undefined;
  const before = findCondition(last?.conditions, "Reconciling");
  const told = last?.message !== undefined && before?.reason === reconciling.reason;
  return told || PROGRESS.has(reconciling.reason) ? undefined : reconciling;
}

/** An entry of the topology that is no pool of ours was removed. */
export function composeForeignPoolEvent(observed: ObservedCluster, poolName: string): RecordedEvent {
  const note = `The entry ${poolName} in the engine's topology was no node pool of this cluster and was removed. Create a NodePool instead.`;
  return {
    ...composeEvent(observed, "Warning", "ForeignNodePoolRemoved", note),
    ...(observed.engine && { related: referTo(engineClusterKind, observed.engine.object.metadata) }),
  };
}

function stalledReason(condition: { status: string; reason: string } | undefined): string | undefined {
  return condition?.status === "True" ? condition.reason : undefined;
}

function reasonOf(phase: ClusterPhase, last: ClusterStatus | undefined): string {
  return phase === "Ready" && last?.phase === "Degraded" ? "Recovered" : phase;
}

function describe(phase: ClusterPhase, observed: ObservedCluster, next: ClusterStatus): string {
  const message = (type: "Ready" | "Upgrading" | "WorkersReady") =>
    findCondition(next.conditions, type)?.message ?? "";
  switch (phase) {
    case "Provisioning":
      return `Creating the cluster with Kubernetes ${next.targetVersion}; its workers live in ${next.workerSubnet}.`;
    case "Ready":
      return `The cluster serves at ${next.apiServerURL}; nodes ready: ${next.nodes?.ready} of ${next.nodes?.total}.`;
    case "Scaling":
      return message("WorkersReady");
    case "Upgrading":
      return message("Upgrading");
    case "Deleting":
      return `Deleting the cluster with ${observed.pools.length} node pools.`;
    default:
      return message("Ready");
  }
}

function composeEvent(
  observed: ObservedCluster,
  type: "Normal" | "Warning",
  reason: string,
  note: string,
): RecordedEvent {
  const { metadata } = observed.cluster;
  const labels = {
    [LABEL_SOURCE]: "operator",
    [LABEL_CLUSTER_ID]: metadata.labels?.[LABEL_ID] ?? observed.candidateId,
  };
  return { regarding: referTo(clusterKind, metadata), type, reason, action: "Reconcile", note, labels };
}

import { findCondition } from "../../shared/controller/conditions.ts";
import { identifyChange, referTo } from "../../shared/controller/event-object.ts";
import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { type ClusterPhase, type ClusterStatus, clusterKind } from "../../shared/crd/cluster.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { LABEL_CLUSTER_ID, LABEL_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import { remainingMs } from "../../shared/program/time.ts";
import { count } from "../../shared/program/wording.ts";
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";
import { findLongWait } from "../events/long-wait.ts";
import type { ObservedCluster } from "./observe.ts";
import { describeBegunUpgrade, type RequestedUpgrade } from "./upgrade-gate.ts";

/** What the operator does to a cluster, as the `action` of its Events. */
type Action = "Create" | "Scale" | "Upgrade" | "Update" | "CheckHealth" | "Delete";

/**
 * The Events of `kubectl describe`: one for each change of phase but to Failed, for a completed upgrade, for admin credentials of
 * which the earlier ones have ended, for a problem that a person has to solve or that keeps an expired cluster, and for a long wait
 * of the cluster itself. Programs read the transitions of the status instead.
 */
export function composePhaseEvents(observed: ObservedCluster, next: ClusterStatus): RecordedEvent[] {
  const last = observed.cluster.status;
  const events: RecordedEvent[] = [];
  const action = findAction(observed, next);
  const record = (type: "Normal" | "Warning", reason: string, note: string, done: Action = action) =>
    events.push(composeEvent(observed, { type, reason, action: done, note }));
  if (last?.version !== undefined && last.version !== next.version) {
    record("Normal", "Upgraded", `Upgraded from ${last.version} to ${next.version}.`, "Upgrade");
  }
  const { credentialsGeneration: lastGeneration } = last ?? {};
  if (lastGeneration !== undefined && lastGeneration < (next.credentialsGeneration ?? 0)) {
    const note =
      "The admin credentials were rotated: every admin kubeconfig downloaded before is refused. Download it again.";
    const rotated = { type: "Normal", reason: "AdminCredentialsRotated", action: "Update", note } as const;
    const event = composeEvent(observed, rotated);
    events.push({ ...event, dedupeKey: identifyChange(event, next.credentialsGeneration, undefined) });
  }
  const stalled = findCondition(next.conditions, "Stalled");
  const before = findCondition(last?.conditions, "Stalled");
  const wasStalled = before?.status === "True" && before.reason === stalled?.reason;
  if (stalled?.status === "True" && !wasStalled) record("Warning", stalled.reason, stalled.message);
  const expiryHeld = findCondition(next.conditions, "ExpiryHeld");
  if (expiryHeld !== undefined && findCondition(last?.conditions, "ExpiryHeld")?.reason !== expiryHeld.reason)
    record("Warning", "ExpiryHeld", expiryHeld.message, "Delete");
  // What node pools wait for is a Warning of theirs: of the cluster itself it has reported nothing.
  const reported = last !== undefined && reportsPools(last) ? { ...last, message: undefined } : last;
  const wait = findLongWait(reported, next);
  if (wait !== undefined && !reportsPools(next)) record(wait.type, wait.reason, wait.message);
  const phase = next.phase ?? "Provisioning";
  if (phase !== last?.phase && phase !== "Failed") {
    const type = phase === "Degraded" ? "Warning" : "Normal";
    const note = describePhase(phase, observed, next);
    // A loss is recorded as what a person has to solve.
    if (events.some((recorded) => recorded.note === note)) return events;
    const event = composeEvent(observed, { type, reason: findReason(phase, last, next), action, note });
    const since = findCondition(next.conditions, "Reconciling")?.lastTransitionTime;
    const { generation } = observed.cluster.metadata;
    events.push({ ...event, dedupeKey: identifyChange(event, generation, since) });
  }
  return events;
}

/** What an upgrade is warned of that begins by this target; undefined = nothing, also while it does not begin. */
export function composeBegunUpgrade(
  observed: ObservedCluster,
  upgrade: RequestedUpgrade | undefined,
  target: string | undefined,
): RecordedEvent | undefined {
  if (upgrade === undefined || upgrade.target !== target) return undefined;
  const begun = describeBegunUpgrade(upgrade, observed.upgradeChecks);
  return begun && composeEvent(observed, { type: "Warning", action: "Upgrade", ...begun });
}

/** Whether the message is what node pools wait for. */
function reportsPools({ message, conditions }: ClusterStatus): boolean {
  return message === findCondition(conditions, "WorkersReady")?.message;
}

/** What changes the pools is the reason, for not every change of a pool scales it. */
function findReason(phase: ClusterPhase, last: ClusterStatus | undefined, next: ClusterStatus): string {
  if (phase === "Ready" && last?.phase === "Degraded") return "Recovered";
  const workers = findCondition(next.conditions, "WorkersReady");
  return phase === "Scaling" ? (workers?.reason ?? phase) : phase;
}

/** An entry of the topology that is not a node pool of this cluster was removed. */
export function composeForeignPoolEvent(observed: ObservedCluster, poolName: string): RecordedEvent {
  const note = `The nodes of ${poolName}, which was not a node pool of this cluster, are being removed. Create a node pool instead.`;
  return {
    ...composeEvent(observed, { type: "Warning", reason: "ForeignNodePoolRemoved", action: "Update", note }),
    ...(observed.capi && { related: referTo(capiClusterKind, observed.capi.object.metadata) }),
  };
}

const UPGRADE_REASONS = [
  "Upgrading",
  "CheckingUpgrade",
  "UpgradeBlocked",
  "UnknownVersion",
  "DowngradeRefused",
];

/** The action of which these Events report the progress or the failure. */
function findAction({ cluster }: ObservedCluster, next: ClusterStatus): Action {
  const last = cluster.status;
  if (next.phase === "Deleting") return "Delete";
  if (last?.firstReadyAt === undefined) return "Create";
  if (next.phase === "Degraded" || last.phase === "Degraded") return "CheckHealth";
  const reasons = (["Upgrading", "Stalled"] as const).map(
    (type) => findCondition(next.conditions, type)?.reason ?? "",
  );
  if (last.phase === "Upgrading" || reasons.some((reason) => UPGRADE_REASONS.includes(reason))) {
    return "Upgrade";
  }
  const changes = [last, next].map((status) => findCondition(status.conditions, "WorkersReady")?.reason);
  return changes.includes("Scaling") || changes.includes("WaitingForNodes") ? "Scale" : "Update";
}

function describePhase(phase: ClusterPhase, observed: ObservedCluster, next: ClusterStatus): string {
  const message = (type: "Ready" | "Upgrading" | "WorkersReady") =>
    findCondition(next.conditions, type)?.message ?? "";
  switch (phase) {
    case "Provisioning":
      return `Creating the cluster with Kubernetes ${next.targetVersion} and the worker subnet ${next.workerSubnet}.`;
    case "Ready":
      return `The cluster is available at ${next.apiServerURL}; nodes ready: ${next.nodes?.ready} of ${next.nodes?.total}.`;
    case "Scaling":
      return message("WorkersReady");
    case "Upgrading":
      return message("Upgrading");
    case "Deleting":
      return `Deleting the cluster with ${count(observed.pools.length, "node pool")}.`;
    default:
      return message("Ready");
  }
}

function composeEvent(
  observed: ObservedCluster,
  event: { type: "Normal" | "Warning"; reason: string; action: Action; note: string },
): RecordedEvent {
  const { metadata } = observed.cluster;
  const labels = {
    [LABEL_SOURCE]: "operator",
    [LABEL_CLUSTER_ID]: idOf(observed.cluster) ?? observed.candidateId,
  };
  return { regarding: referTo(clusterKind, metadata), ...event, labels };
}

/** A restore may bring Cluster API's objects before ours. */
const RESTORED_WITHIN_MS = 60_000;

/** The Events about a Cluster API cluster whose Cluster is deleted, and when to check again. */
export interface WithoutCluster {
  events: RecordedEvent[];
  requeueAfterMs?: number;
}

/**
 * A Warning about a Cluster API cluster that Marina made and that has no Cluster any more: it runs on, and its tenant does not
 * see it. Nothing about one that is being deleted, that Marina did not make, or that is younger than a minute. Nothing is
 * removed here: orphans/ removes what a deletion leaves behind.
 */
export function reportWithoutCluster(capiCluster: CapiCluster | undefined, now: Date): WithoutCluster {
  const id = capiCluster?.metadata.labels?.[LABEL_ID];
  if (capiCluster === undefined || id === undefined || capiCluster.metadata.deletionTimestamp !== undefined)
    return { events: [] };
  const requeueAfterMs = remainingMs(capiCluster.metadata.creationTimestamp, RESTORED_WITHIN_MS, now);
  if (requeueAfterMs !== undefined) return { events: [], requeueAfterMs };
  const { namespace, name } = capiCluster.metadata;
  const note = `The Cluster ${namespace}/${name} of Marina is gone or has lost its finalizer, and this cluster runs on unseen. Restore the Cluster from a backup, or delete this cluster.`;
  const event: RecordedEvent = {
    regarding: referTo(capiClusterKind, capiCluster.metadata),
    type: "Warning",
    reason: "ClusterMissing",
    action: "CheckHealth",
    note,
    labels: { [LABEL_SOURCE]: "operator", [LABEL_CLUSTER_ID]: id },
  };
  return { events: [event] };
}

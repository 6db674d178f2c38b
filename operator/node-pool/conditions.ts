import type { NewCondition, Problem } from "../../shared/controller/conditions.ts";
import { truncateConditionMessage } from "../../shared/crd/conditions.ts";
import { DEFAULT_NODES, type NodePoolConditionType, type NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { autoscalingRange, findMaximaBelowOneNode, isAutoscaled } from "../../shared/crd/node-pool-rules.ts";
import { ADVICE_BY_REASON } from "../../shared/crd/rest-words.ts";
import { count, listNames } from "../../shared/program/wording.ts";
import { findLiveReplicas, isCountReleased } from "../capi/pool-replicas.ts";
import type { TopologyPool } from "../capi/worker-pool.ts";
import { isDeleting } from "../identity/identity.ts";
import { describeDeletion, describeMachine, findStage, findWaitReason } from "./deletion.ts";
import type { ObservedPool } from "./observe.ts";
import {
  findClusterStall,
  findLostCluster,
  findObstacle,
  findPause,
  findUnpropagatedLabels,
  type PoolProgress,
} from "./progress.ts";

export type PoolCondition = NewCondition<NodePoolConditionType>;

/** The conditions of a pool but for protection and end date: Autoscaling of an autoscaled one only, Stalled only while a person has to act. */
export function decidePoolConditions(
  observed: ObservedPool,
  progress: PoolProgress,
  problem: Problem | undefined,
): PoolCondition[] {
  const obstacle = findObstacle(observed, progress);
  const ready = decideReady(observed, progress, problem, obstacle);
  const scaling = decideScaling(observed, progress, obstacle);
  const upToDate = decideUpToDate(observed, progress, obstacle);
  const change = [
    ready.status === "False" && ready,
    scaling.status === "True" && scaling,
    upToDate.status !== "True" && upToDate,
  ].find((condition) => condition !== false);
  const isBeingDeleted = isDeleting(observed.pool);
  // Nodes that lack labels are at no time as specified; a person has to act once nothing else is open.
  const lacking = progress.nodes > 0 && !isBeingDeleted ? findUnpropagatedLabels(observed) : undefined;
  const open = change === undefined ? lacking : undefined;
  const stalled = problem ?? (isBeingDeleted ? undefined : findLostCluster(observed)) ?? obstacle ?? open;
  return [
    ready,
    scaling,
    lacking === undefined || upToDate.status !== "True"
      ? upToDate
      : poolCondition("UpToDate", "False", lacking.reason, lacking.message),
    ...(isAutoscaled(observed.pool.spec) ? [decideAutoscaling(observed)] : []),
    decideReconciling(observed, progress, change, stalled),
    ...(stalled === undefined ? [] : [poolCondition("Stalled", "True", stalled.reason, stalled.message)]),
  ];
}

/** A condition with its message cut to the maximum length. */
export function poolCondition(
  type: NodePoolConditionType,
  status: "True" | "False" | "Unknown",
  reason: string,
  message: string,
): PoolCondition {
  return { type, status, reason, message: truncateConditionMessage(message) };
}

export function describeUnhealthyNodes(names: readonly string[]): string {
  return `Unhealthy nodes: ${listNames(names)}. Cluster API replaces them if its health checks cover them; otherwise replace them by hand.`;
}

function decideReconciling(
  observed: ObservedPool,
  progress: PoolProgress,
  change: PoolCondition | undefined,
  stalled: Problem | undefined,
): PoolCondition {
  const type = "Reconciling";
  const isDeletion = change?.reason === "Deleting";
  if (stalled !== undefined && (change === undefined || isDeletion))
    return poolCondition(type, "False", stalled.reason, stalled.message);
  if (change === undefined)
    return poolCondition(type, "False", "ReconciliationSucceeded", "The pool is as specified.");
  // What is done does not say why it waits.
  const pause = isDeletion ? findPause(observed)?.reason : undefined;
  const reason = pause ?? findWaitReason(change.reason, findStage(observed, progress));
  return poolCondition(type, stalled === undefined ? "True" : "False", reason, change.message);
}

function decideReady(
  observed: ObservedPool,
  progress: PoolProgress,
  problem: Problem | undefined,
  obstacle: Problem | undefined,
): PoolCondition {
  const { pool, cluster } = observed;
  const notReady = (reason: string, message: string) => poolCondition("Ready", "False", reason, message);
  if (isDeleting(pool)) return notReady("Deleting", obstacle?.message ?? describeDeletion(observed));
  // What already runs stays ready when it may not grow.
  const keepsRunning = problem === observed.blocker && observed.machineDeployment !== undefined;
  if (problem !== undefined && !keepsRunning) return notReady(problem.reason, problem.message);
  if (cluster === undefined) {
    const message = `There is no cluster ${pool.spec.clusterName} in this organization yet; create it.`;
    return notReady("WaitingForCluster", message);
  }
  const lost = findLostCluster(observed);
  if (lost !== undefined) return notReady(lost.reason, lost.message);
  if (progress.unhealthy.length > 0) {
    const names = progress.unhealthy.map((machine) => machine.node ?? machine.name);
    return notReady("NodesUnhealthy", describeUnhealthyNodes(names));
  }
  if (pool.status?.firstReadyAt !== undefined || progress.state === "converged") {
    return poolCondition("Ready", "True", "Available", "The pool is available.");
  }
  const wait = obstacle ?? findInitialWait(observed, progress);
  return notReady(wait.reason, wait.message);
}

/** What a pool that was never ready waits for. */
function findInitialWait(observed: ObservedPool, progress: PoolProgress): Problem {
  const { cluster } = observed;
  const isAbsent = progress.state === "absent";
  if (cluster?.deleting) {
    return { reason: "WaitingForCluster", message: `The cluster ${cluster.name} is being deleted.` };
  }
  const stall = isAbsent ? findClusterStall(observed) : undefined;
  if (cluster !== undefined && stall !== undefined) {
    const message = `The cluster ${cluster.name} is stalled: ${stall.message}`;
    return { reason: "WaitingForCluster", message };
  }
  const pause = findPause(observed);
  if (pause !== undefined) return { reason: pause.reason, message: `The nodes wait${pause.clause}` };
  if (isAbsent && !cluster?.controlPlaneInitialized) {
    const message =
      "The control plane of the cluster is not up yet; nodes join automatically after it. If this lasts, look at what the cluster waits for.";
    return { reason: "WaitingForControlPlane", message };
  }
  if (isAbsent && cluster?.upgrading) {
    const message = "The cluster is being upgraded; new pools follow after its control plane.";
    return { reason: "UpgradeInProgress", message };
  }
  const { nodes, readyNodes, desiredNodes } = progress;
  if (desiredNodes === 0 && nodes === 0) {
    return { reason: "Provisioning", message: "The pool, which is to have no nodes, is being created." };
  }
  const counts = `${readyNodes} of ${count(desiredNodes, "node")} ${be(readyNodes, desiredNodes)} ready, ${nodes} ${exist(nodes)}.`;
  return { reason: "WaitingForNodes", message: `${counts}${describeMachine(observed, progress)}` };
}

function decideScaling(
  observed: ObservedPool,
  progress: PoolProgress,
  obstacle: Problem | undefined,
): PoolCondition {
  if (isDeleting(observed.pool))
    return poolCondition("Scaling", "False", "Deleting", describeDeletion(observed));
  const { desiredNodes, nodes, readyNodes } = progress;
  const { firstReadyAt } = observed.pool.status ?? {};
  const replicas = observed.machineDeployment?.replicas;
  // Its machines may outlive their MachineDeployment for a while.
  const differs = nodes !== desiredNodes || readyNodes !== desiredNodes;
  const isMadeAgain = progress.state === "absent" && firstReadyAt !== undefined && differs;
  const isScaled = progress.state === "rollingOut" && replicas !== desiredNodes;
  if (progress.state !== "scaling" && !isMadeAgain && !isScaled) {
    const liveReplicas = findLiveReplicas(observed.topologyPool, replicas);
    if (isCountReleased(observed.pool, liveReplicas)) {
      const message = `No manager sets spec.desiredNodes any more, and no node is removed for its default of ${DEFAULT_NODES}: the pool keeps ${count(liveReplicas, "node")}. ${ADVICE_BY_REASON.CountReleased.kubectl}`;
      return poolCondition("Scaling", "False", "CountReleased", message);
    }
    if (progress.state === "absent" && firstReadyAt === undefined) {
      const wait = observed.blocker ?? obstacle ?? findPause(observed) ?? { reason: "WaitingForNodes" };
      return poolCondition("Scaling", "Unknown", wait.reason, "There are no nodes yet.");
    }
    return poolCondition("Scaling", "False", "NotScaling", "The number of nodes is not changing.");
  }
  if (obstacle !== undefined) return poolCondition("Scaling", "True", obstacle.reason, obstacle.message);
  const pause = findPause(observed);
  if (pause !== undefined) {
    const message = `The change to ${count(desiredNodes, "node")} waits${pause.clause}`;
    return poolCondition("Scaling", "True", pause.reason, message);
  }
  if (observed.cluster?.upgrading === true && replicas !== desiredNodes) {
    const message = `The change to ${count(desiredNodes, "node")} waits for the upgrade of the cluster to reach this pool.`;
    return poolCondition("Scaling", "True", "UpgradeInProgress", message);
  }
  const counts = `Scaling to ${count(desiredNodes, "node")}: ${nodes} ${exist(nodes)}, ${readyNodes} ${readyNodes === 1 ? "is" : "are"} ready.`;
  const autoscaling = decideAutoscaling(observed);
  const awaitsAutoscaler = isAutoscaled(observed.pool.spec) && replicas !== desiredNodes;
  if (awaitsAutoscaler && observed.machineDeployment !== undefined && autoscaling.status !== "True") {
    const message = `The pool needs at least ${count(desiredNodes, "node")}, ${nodes} ${exist(nodes)}. ${autoscaling.message}`;
    return poolCondition("Scaling", "True", autoscaling.reason, message);
  }
  return poolCondition("Scaling", "True", "Scaling", `${counts}${describeMachine(observed, progress)}`);
}

function decideUpToDate(
  observed: ObservedPool,
  progress: PoolProgress,
  obstacle: Problem | undefined,
): PoolCondition {
  const type = "UpToDate";
  const target = observed.cluster?.topologyVersion;
  const isBehind = progress.version !== undefined && target !== undefined && progress.version !== target;
  const { upToDateNodes, desiredNodes } = progress;
  const blocker = isDeleting(observed.pool) ? undefined : observed.blocker;
  const pause = progress.state === "converged" && !isBehind ? undefined : findPause(observed);
  if (lacksNodes(observed, progress)) {
    const isBeingDeleted = isDeleting(observed.pool);
    const machine = observed.pool.status?.firstReadyAt ? describeMachine(observed, progress) : "";
    const { reason = isBeingDeleted ? "Deleting" : "WaitingForNodes", clause = `.${machine}` } = pause ?? {};
    const message = isBeingDeleted ? describeDeletion(observed) : `There are no nodes yet${clause}`;
    const cause = blocker ?? obstacle ?? { reason, message };
    return poolCondition(type, "Unknown", cause.reason, cause.message);
  }
  if (pause !== undefined && (progress.state === "rollingOut" || isBehind)) {
    return poolCondition(type, "False", pause.reason, `The replacement of the nodes waits${pause.clause}`);
  }
  if (progress.state === "rollingOut") {
    const rest = progress.isPropagated ? "" : (obstacle?.message ?? "The newer settings of the pool follow.");
    const held = rest && ` ${rest}`;
    const message = `${describeRollout(upToDateNodes, desiredNodes)}${held}${describeMachine(observed)}`;
    return poolCondition(type, "False", "RollingOut", message);
  }
  if (isBehind) {
    const message = `Nodes run ${progress.version}; they follow the cluster to ${target}.`;
    return poolCondition(type, "False", "UpgradeInProgress", message);
  }
  if (blocker !== undefined) return poolCondition(type, "False", blocker.reason, blocker.message);
  if (progress.state === "updating" || (progress.state === "scaling" && !progress.areMachinesUpToDate)) {
    if (obstacle !== undefined) return poolCondition(type, "False", obstacle.reason, obstacle.message);
    if (pause !== undefined)
      return poolCondition(type, "False", pause.reason, `The new settings wait${pause.clause}`);
    const have = isOne(upToDateNodes, desiredNodes) ? "has" : "have";
    const isCounted = upToDateNodes < desiredNodes;
    const counts = isCounted ? `: ${upToDateNodes} of ${count(desiredNodes, "node")} ${have} them` : "";
    const message = `The new settings are being applied${counts}.${describeMachine(observed)}`;
    return poolCondition(type, "False", "Updating", message);
  }
  return poolCondition(type, "True", "UpToDate", "All nodes are as specified.");
}

/** Whether nothing is known of nodes: none of those that the pool is to have has joined. Counters run ahead of the machines. */
function lacksNodes({ machines }: ObservedPool, { state, desiredNodes, readyNodes }: PoolProgress): boolean {
  const hasJoined = readyNodes > 0 || machines.some(({ node }) => node !== undefined);
  return state === "absent" || (desiredNodes > 0 && !hasJoined);
}

/** A rollout has begun before its counter of nodes that are up to date follows. */
function describeRollout(upToDateNodes: number, desiredNodes: number): string {
  const isCounted = upToDateNodes < desiredNodes;
  const counts = isCounted
    ? `: ${upToDateNodes} of ${desiredNodes} ${be(upToDateNodes, desiredNodes)} up to date`
    : "";
  return `Nodes are being replaced one after another${counts}.`;
}

/** Whether the verb is singular, as in "0 of 1 node is" and "1 of 2 nodes is". */
function isOne(amount: number, total: number): boolean {
  return amount === 1 || total === 1;
}

function be(amount: number, total: number): string {
  return isOne(amount, total) ? "is" : "are";
}

function exist(amount: number): string {
  return amount === 1 ? "exists" : "exist";
}

/** Whether the cluster autoscaler manages the number of nodes. */
function decideAutoscaling({ pool, autoscaler, topologyPool }: ObservedPool): PoolCondition {
  const type = "Autoscaling";
  if (!autoscaler.configured) {
    const message =
      "The platform runs no cluster autoscaler; ask its operator for one. The number of nodes stays as it is.";
    return poolCondition(type, "False", "NotConfigured", message);
  }
  const available = autoscaler.deployment?.available;
  if (available?.status === "True") {
    return poolCondition(type, "True", "Enabled", describeRange(pool.spec, topologyPool?.scale));
  }
  if (available?.status === "False") {
    const message =
      "The cluster autoscaler does not run, so the number of nodes stays as it is. If this lasts, ask the platform's operator to look at it.";
    return poolCondition(type, "False", "AutoscalerUnavailable", message);
  }
  return poolCondition(type, "Unknown", "WaitingForAutoscaler", "The cluster autoscaler is starting.");
}

/** By the bounds that Cluster API has, which a quota may hold back. */
function describeRange(spec: NodePoolSpec, scale: TopologyPool["scale"] | undefined): string {
  const { minNodes, maxNodes } = scale?.kind === "autoscaled" ? scale : autoscalingRange(spec);
  const range =
    minNodes === maxNodes
      ? `The autoscaler keeps the pool at ${count(minNodes, "node")}.`
      : `The autoscaler keeps the pool between ${minNodes} and ${count(maxNodes, "node")}.`;
  const exceeded = findMaximaBelowOneNode(spec);
  if (exceeded.length === 0) return range;
  return `${range} One node is allowed although it exceeds ${exceeded.join(" and ")}.`;
}

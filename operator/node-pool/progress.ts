import { isDeepStrictEqual } from "node:util";
import { findCondition, type Problem } from "../../shared/controller/conditions.ts";
import { INFRASTRUCTURE_LOST } from "../../shared/crd/conditions.ts";
import { isAlwaysPropagated } from "../../shared/crd/node-metadata.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { autoscalingRange, isAutoscaled } from "../../shared/crd/node-pool-rules.ts";
import { earliest, elapsedMs, remainingMs } from "../../shared/program/time.ts";
import { listNames } from "../../shared/program/wording.ts";
import { findFixedCount } from "../capi/pool-replicas.ts";
import { FINALIZERS_WITHIN_MS, type MachineDeploymentState, type MachineState } from "../capi/pool-state.ts";
import { PAUSED } from "../capi/tenant-messages.ts";
import { hashDesiredPool, type PoolDefaults } from "../capi/worker-pool.ts";
import { displayNameOf, isDeleting } from "../identity/identity.ts";
import { composeDesiredPool } from "./children.ts";
import type { ClusterOfPool, ObservedPool } from "./observe.ts";

/** How far a pool is from its desired state. */
export interface PoolProgress {
  /**
   * `absent`: Cluster API has not created it yet; `updating`: it has not acted on all of the specification yet; `unhealthy`: only
   * unhealthy nodes are missing.
   */
  state: "absent" | "scaling" | "updating" | "rollingOut" | "unhealthy" | "converged";
  /**
   * For a fixed pool, the number in its spec; for one that keeps what is live, or whose count has no manager any more
   * (`isCountReleased`), the number in Cluster API; for an autoscaled one that too, but its minimum at least.
   */
  desiredNodes: number;
  nodes: number;
  readyNodes: number;
  upToDateNodes: number;
  /** The MachineDeployment and every Machine are as specified, or as Cluster API has the pool (`keepsLive`), but for the number of nodes. */
  areMachinesUpToDate: boolean;
  /** The MachineDeployment has it (see createHashCheck), whatever its Machines have. */
  isPropagated: boolean;
  version: string | undefined;
  /** Machines that have been unhealthy for longer than the threshold. */
  unhealthy: readonly MachineState[];
  /** Machines that have no node yet, the oldest first; of one second, by name. */
  joining: readonly MachineState[];
  /** The oldest of these has taken longer than a machine of its class may since its pool or cluster was ready: before, all wait for others. */
  isLate: boolean;
  /** For how many ms a deletion still counts as being passed on; undefined = no longer, or there is none. */
  deletionWaitMs: number | undefined;
  /** In how many ms that ends, or the next unhealthy machine passes the threshold; undefined = neither will. */
  nextChangeInMs: number | undefined;
}

/** A deletion that no problem of its cluster keeps back is passed on within this time. */
const PASSED_ON_WITHIN_MS = FINALIZERS_WITHIN_MS + 10_000;

export interface MeasureOptions {
  nodeDegradedAfterSeconds: number;
  /** How long a machine may take to join; undefined = none is late. */
  nodeStartupTimeoutSeconds?: number | undefined;
  cluster?: Pick<ClusterOfPool, "firstReadyAt"> | undefined;
  poolDefaults: PoolDefaults;
  /** The number of nodes that Cluster API is asked for now; undefined = none yet. */
  liveReplicas: number | undefined;
  /** It stays as Cluster API has it: it is blocked or, where its cluster measures it, has a part that is not applied. */
  keepsLive: boolean;
}

/**
 * Measures a pool. Counters that Cluster API does not report keep their last value: they are missing for a second now and
 * then. A pool scales while the counts differ and nothing rolls out; Cluster API's own scaling conditions end too early.
 */
export function measurePool(
  pool: NodePool,
  machineDeployment: MachineDeploymentState | undefined,
  machines: readonly MachineState[],
  { nodeDegradedAfterSeconds, poolDefaults, liveReplicas, keepsLive, ...limits }: MeasureOptions,
  now: Date,
): PoolProgress {
  const last = pool.status;
  const desiredNodes = findDesiredNodes(pool, machineDeployment, { liveReplicas, keepsLive });
  const hasDesiredHash = keepsLive ? () => true : createHashCheck(pool, poolDefaults);
  const upToDate = machines.filter((machine) => hasDesiredHash(machine) && !mayBeOutdated(pool, machine));
  // A specification that is not applied is not waited for, but no node has it.
  const asSpecified = keepsLive ? upToDate.filter(({ size }) => isOfSpec(size, pool.spec)) : upToDate;
  const fallback = machineDeployment === undefined ? countMachines(machines) : last;
  const nodes = machineDeployment?.nodes ?? fallback?.nodes ?? 0;
  const readyNodes = machineDeployment?.readyNodes ?? fallback?.readyNodes ?? 0;
  const unhealthy = machines.filter((machine) => machine.unhealthy !== undefined);
  const dueInMs = (machine: MachineState) =>
    Date.parse(machine.unhealthy?.since ?? "") + nodeDegradedAfterSeconds * 1000 - now.getTime();
  const pending = unhealthy.map(dueInMs).filter((ms) => ms > 0);
  const isPropagated = machineDeployment !== undefined && hasDesiredHash(machineDeployment);
  const areMachinesUpToDate = isPropagated && upToDate.length === machines.length;
  const joining = machines
    .filter((machine) => machine.node === undefined && !machine.deleting)
    .sort((left, right) => compare(left.createdAt, right.createdAt) || compare(left.name, right.name));
  const startupMs = (limits.nodeStartupTimeoutSeconds ?? 0) * 1000;
  const readyAt = startupMs === 0 ? undefined : (last?.firstReadyAt ?? limits.cluster?.firstReadyAt);
  const awaitedSince = readyAt && joining[0] && [joining[0].createdAt, readyAt].sort().at(-1);
  const lateInMs = awaitedSince ? remainingMs(awaitedSince, startupMs, now) : undefined;
  const deletionWaitMs = isDeleting(pool) ? findDeletionWait(pool, now) : undefined;
  return {
    state: determineState(
      machineDeployment,
      { desiredNodes, nodes, readyNodes, unhealthyNodes: unhealthy.length },
      areMachinesUpToDate,
    ),
    desiredNodes,
    nodes,
    readyNodes,
    areMachinesUpToDate,
    isPropagated,
    upToDateNodes: Math.min(
      machineDeployment?.upToDateNodes ?? fallback?.upToDateNodes ?? 0,
      asSpecified.length < machines.length ? asSpecified.length : Infinity,
    ),
    // A pool without nodes runs no version: the last one would stay outdated once the cluster is upgraded.
    version: machineDeployment?.nodes === 0 ? undefined : (machineDeployment?.version ?? last?.version),
    unhealthy: unhealthy.filter((machine) => dueInMs(machine) <= 0),
    joining,
    isLate: awaitedSince !== undefined && elapsedMs(awaitedSince, now) >= startupMs,
    deletionWaitMs,
    nextChangeInMs: earliest([...pending, deletionWaitMs, lateInMs]),
  };
}

/** For how many ms a deletion still counts as being passed on: for none once it is reported as kept back, whatever this clock says. */
function findDeletionWait({ metadata, status }: NodePool, now: Date): number | undefined {
  const isKeptBack = findCondition(status?.conditions, "Stalled")?.status === "True";
  if (isKeptBack && findCondition(status?.conditions, "Ready")?.reason === "Deleting") return undefined;
  const waitMs = PASSED_ON_WITHIN_MS - elapsedMs(metadata.deletionTimestamp, now);
  return waitMs > 0 ? waitMs : undefined;
}

/** The number of an autoscaled pool is its autoscaler's, but never below its minimum, also where no autoscaler runs. */
function findDesiredNodes(
  pool: NodePool,
  machineDeployment: MachineDeploymentState | undefined,
  { liveReplicas, keepsLive }: Pick<MeasureOptions, "liveReplicas" | "keepsLive">,
): number {
  const { spec } = pool;
  const given = machineDeployment?.replicas ?? spec.desiredNodes;
  if (keepsLive) return given;
  return isAutoscaled(spec)
    ? Math.max(given, autoscalingRange(spec).minNodes)
    : findFixedCount(pool, liveReplicas);
}

/** Whether a machine has the size of the specification, as far as its own is known. */
function isOfSpec(size: MachineState["size"], { vcpus, memoryGB, diskGB }: NodePool["spec"]): boolean {
  return size === undefined || isDeepStrictEqual(size, { vcpus, memoryGB, diskGB });
}

/** What is left of a MachineDeployment that is deleted. */
function countMachines(machines: readonly MachineState[]) {
  const readyNodes = machines.filter(({ ready }) => ready).length;
  return { nodes: machines.length, readyNodes, upToDateNodes: readyNodes };
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/**
 * Creates the check whether Cluster API has given the desired pool to a MachineDeployment or Machine, by its hash. Once all
 * had that of the current generation, a default of the platform that changes later does not make the pool outdated.
 */
function createHashCheck(
  pool: NodePool,
  defaults: PoolDefaults,
): (object: { appliedHash: string | undefined }) => boolean {
  const { generation = 0, deletionTimestamp } = pool.metadata;
  const upToDate = findCondition(pool.status?.conditions, "UpToDate");
  const wasUpToDate = upToDate?.status === "True" && upToDate.observedGeneration === generation;
  if (wasUpToDate || deletionTimestamp !== undefined) return () => true;
  const desired = hashDesiredPool(composeDesiredPool(pool, defaults));
  return ({ appliedHash }) => appliedHash === desired;
}

/** A pool that is being deleted waits for no rollout. */
function mayBeOutdated(pool: NodePool, machine: MachineState): boolean {
  return machine.outdated !== false && pool.metadata.deletionTimestamp === undefined;
}

interface Counts {
  desiredNodes: number;
  nodes: number;
  readyNodes: number;
  unhealthyNodes: number;
}

function determineState(
  machineDeployment: MachineDeploymentState | undefined,
  { desiredNodes, nodes, readyNodes, unhealthyNodes }: Counts,
  areMachinesUpToDate: boolean,
): PoolProgress["state"] {
  if (machineDeployment === undefined) return "absent";
  if (machineDeployment.rollingOut) return "rollingOut";
  if (machineDeployment.replicas !== desiredNodes) return "scaling";
  if (!areMachinesUpToDate) return "updating";
  if (nodes !== desiredNodes) return "scaling";
  if (!machineDeployment.isGenerationObserved) return "updating";
  if (readyNodes >= desiredNodes) return "converged";
  return readyNodes + unhealthyNodes >= desiredNodes ? "unhealthy" : "scaling";
}

/** The oldest machine that has not joined, what it waits for, and the next step. */
export function describeJoiningMachine({ joining, isLate }: PoolProgress): string {
  const [oldest] = joining;
  if (oldest === undefined) return " If this lasts, ask the platform's operator to look at the node pool.";
  return ` Machine ${oldest.name} has not joined${isLate ? " in time" : ""}: ${oldest.waitsFor}. If this lasts, ask the platform's operator to look at it.`;
}

/** Problems of a cluster that a new pool of it reports as its own: of a refusal that names no part. */
const REJECTIONS = new Set(["RejectedByClusterAPI", "QuotaExceeded", "UnsupportedByClass"]);

/** What keeps this pool from its desired state, of itself or of its cluster; undefined = nothing does. */
export function findObstacle(observed: ObservedPool, progress: PoolProgress): Problem | undefined {
  const { pool, cluster, unapplied, machineDeployment, topologyPool } = observed;
  if (isDeleting(pool))
    return progress.deletionWaitMs === undefined ? findBlockedDeletion(observed) : undefined;
  if (unapplied !== undefined) return unapplied;
  if (cluster?.problem === undefined || cluster.deleting) return undefined;
  const problem = findBlockingProblem(cluster);
  if (problem === undefined) return undefined;
  // A pool that was never made waits for its cluster, unless that was refused.
  const isNew = topologyPool === undefined && pool.status?.firstReadyAt === undefined;
  if (isNew && !REJECTIONS.has(problem.reason)) return undefined;
  // Cluster API has accepted the pool, and is about to make it.
  if (topologyPool !== undefined && progress.state === "absent") return undefined;
  const isScaled = machineDeployment?.replicas === progress.desiredNodes;
  const isOpen = !progress.isPropagated || progress.state === "updating" || !isScaled;
  if (!isOpen) return undefined;
  const message = `The node pool ${displayNameOf(pool)} cannot be changed: ${problem.message}`;
  return findLostCluster(observed) ?? { reason: problem.reason, message };
}

/** Why Cluster API is not told that the pool is deleted, or does not delete it with its cluster; undefined = nothing keeps it. */
function findBlockedDeletion(observed: ObservedPool): Problem | undefined {
  const { cluster, topologyPool } = observed;
  const isPassedOn = observed.machineDeployment?.deletedAt !== undefined;
  const problem = isPassedOn ? undefined : findBlockingProblem(cluster);
  if (cluster === undefined || problem === undefined || topologyPool === undefined) return undefined;
  const why = cluster.deleting
    ? `The node pool is deleted with the cluster ${cluster.name}.`
    : `Deletion waits for the cluster ${cluster.name}:`;
  return { reason: problem.reason, message: `${why} ${problem.message}` };
}

/** Problems of a cluster with a version that hold back the version or the plan alone: its pools are applied meanwhile. */
const LETS_POOLS_BE_APPLIED = new Set([
  "UpgradeBlocked",
  "UnknownVersion",
  "DowngradeRefused",
  "UnknownPlan",
]);

/** The problem of a cluster for which nothing of its pools is applied; undefined = there is none. */
function findBlockingProblem(cluster: ObservedPool["cluster"]): Problem | undefined {
  const problem = cluster?.problem;
  if (problem === undefined) return undefined;
  const isApplied = cluster?.topologyVersion !== undefined && LETS_POOLS_BE_APPLIED.has(problem.reason);
  return isApplied ? undefined : problem;
}

/** The problem of the cluster for which this pool is not in its topology yet; undefined = none keeps it out. */
export function findClusterStall({ cluster, topologyPool }: ObservedPool): Problem | undefined {
  return topologyPool === undefined ? findBlockingProblem(cluster) : undefined;
}

/**
 * Why Cluster API does nothing about the cluster at all: its suspension, or a pause by hand; undefined = it works on it.
 * `clause` completes a sentence that says what waits.
 */
export function findPause({ cluster }: ObservedPool): { reason: string; clause: string } | undefined {
  if (cluster?.suspended) return { reason: "Suspended", clause: ": the cluster is suspended." };
  return cluster?.paused ? { reason: "Paused", clause: `. ${PAUSED}` } : undefined;
}

/** The loss of the cluster, with which the pool is lost; undefined = it is there. */
export function findLostCluster({ cluster }: ObservedPool): Problem | undefined {
  const problem = cluster?.problem;
  if (cluster === undefined || problem?.reason !== INFRASTRUCTURE_LOST) return undefined;
  return {
    reason: INFRASTRUCTURE_LOST,
    message: `The cluster ${cluster.name} is lost: ${problem.message}`,
  };
}

/** Labels of the pool that Cluster API is not configured to propagate to its nodes. */
export function findUnpropagatedLabels({ pool, syncedNodeLabels }: ObservedPool): Problem | undefined {
  const keys = Object.keys(pool.spec.nodeLabels ?? {});
  const blocked = keys.filter((key) => !isAlwaysPropagated(key) && !syncedNodeLabels.test(key));
  if (blocked.length === 0) return undefined;
  const message = `The platform does not propagate these labels of the node pool ${displayNameOf(pool)} to its nodes: ${listNames(blocked)}. Leave them out, or ask the platform's operator to have them synchronized in Cluster API (--additional-sync-machine-labels).`;
  return { reason: "LabelsNotPropagated", message };
}

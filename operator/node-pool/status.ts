import {
  appendTransitions,
  type ConditionLike,
  conditionAgeMs,
  findCondition,
  type Problem,
  setConditions,
  withOwnConditions,
} from "../../shared/controller/conditions.ts";
import { EXPIRED, truncateStatusMessage } from "../../shared/crd/conditions.ts";
import { MAX_TRANSITIONS } from "../../shared/crd/fields.ts";
import { idOf } from "../../shared/crd/identity.ts";
import {
  type NodePoolConditionType,
  type NodePoolPhase,
  type NodePoolStatus,
  type NodePoolTransition,
  nodePoolConditionTypes,
} from "../../shared/crd/node-pool.ts";
import { earliest, formatTime } from "../../shared/program/time.ts";
import { findLiveReplicas, isCountUnmanaged } from "../capi/pool-replicas.ts";
import { decideProtection, findExpiryHeld, findExpiryWaitMs } from "../expiry/expiry.ts";
import { findIdentityProblem, isDeleting, readIdentity } from "../identity/identity.ts";
import { decidePoolConditions, type PoolCondition, poolCondition } from "./conditions.ts";
import { followReplacements, listMachines } from "./machines.ts";
import type { ObservedPool } from "./observe.ts";
import { measurePool, type PoolProgress } from "./progress.ts";

/** A cluster that is applied together with its pools is not reported as missing in between. */
const REPORT_MISSING_CLUSTER_AFTER_MS = 5_000;

type Conditions = readonly ConditionLike[];
type NewTransition = Omit<NodePoolTransition, "sequence" | "at">;

/** The whole status of a pool, the progress that it tells of, and in how many ms it changes by the passing of time alone. */
export function composePoolStatus(
  observed: ObservedPool,
  problem: Problem | undefined,
  now: Date,
): { status: NodePoolStatus; progress: PoolProgress; requeueAfterMs: number | undefined } {
  const { pool, machineDeployment } = observed;
  const last = pool.status;
  const keepsLive = observed.blocker !== undefined;
  const liveReplicas = findLiveReplicas(observed.topologyPool, machineDeployment?.replicas);
  const options = { ...observed, liveReplicas, keepsLive };
  const progress = measurePool(pool, machineDeployment, observed.machines, options, now);
  const generation = pool.metadata.generation ?? 0;
  const conditions = setConditions<NodePoolConditionType>(
    last?.conditions ?? [],
    [
      decidePoolConditions(observed, progress, problem),
      pool.spec.deletionProtection ? decideProtection("node pool", pool, observed.namespace) : [],
      decideExpiryHeld(observed, problem, now),
    ].flat(),
    now,
    generation,
  );
  const isReady = findCondition(conditions, "Ready")?.status === "True";
  const firstReadyAt = last?.firstReadyAt ?? (isReady ? formatTime(now) : undefined);
  const reportWaitMs = findReportWaitMs(observed, conditions, now);
  const message = composeMessage(conditions, reportWaitMs === undefined);
  const selector = machineDeployment?.selector ?? last?.selector;
  const replacements = followReplacements(observed, now);
  const listed = listMachines(observed, now);
  const happened = [...replacements.done, ...findTransitions(last, conditions, firstReadyAt)];
  const status: NodePoolStatus = {
    observedGeneration: generation,
    ...composeId(observed),
    conditions,
    phase: summarizePoolPhase(conditions),
    ...(isCountUnmanaged(pool, liveReplicas) && { countUnmanaged: true }),
    nodes: progress.nodes,
    readyNodes: progress.readyNodes,
    upToDateNodes: progress.upToDateNodes,
    ...(firstReadyAt !== undefined && { firstReadyAt }),
    ...(progress.version !== undefined && { version: progress.version }),
    ...(selector !== undefined && { selector }),
    ...(message !== undefined && { message: truncateStatusMessage(message) }),
    machines: listed.machines,
    ...(listed.gone.length > 0 && { goneMachines: listed.gone }),
    ...(replacements.open.length > 0 && { replacements: replacements.open }),
    transitions: appendTransitions(last?.transitions ?? [], happened, MAX_TRANSITIONS, now),
  };
  return {
    status,
    progress,
    requeueAfterMs: earliest([reportWaitMs, progress.nextChangeInMs, findExpiryWaitMs(pool, now)]),
  };
}

/** What the operator writes of a status: the conditions of other controllers are no part of it. */
export function ownPoolStatus(status: NodePoolStatus | undefined): NodePoolStatus | undefined {
  return status && withOwnConditions(status, nodePoolConditionTypes);
}

/** There is nothing to delete of a pool that was not made. */
function decideExpiryHeld(
  { pool, cluster }: ObservedPool,
  problem: Problem | undefined,
  now: Date,
): PoolCondition[] {
  if (problem?.reason === EXPIRED) return [];
  const held = findExpiryHeld("node pool", pool, now, { isSuspended: cluster?.suspended });
  return held === undefined ? [] : [poolCondition("ExpiryHeld", "True", held.reason, held.message)];
}

/** Why the pool is not reconciled for its identity; undefined = it is. */
export function findPoolIdentityProblem({
  pool,
  organization,
  olderDuplicate,
  machineDeployment,
}: ObservedPool): Problem | undefined {
  const identity = readIdentity(pool, machineDeployment !== undefined);
  return findIdentityProblem(organization, olderDuplicate, identity);
}

/** The id, once it is accepted: of a pool with another one's identity it is none. */
export function composeId(observed: ObservedPool): { id?: string } {
  const { pool } = observed;
  const known = pool.status?.id;
  if (known !== undefined) return { id: known };
  if (isDeleting(pool) || findPoolIdentityProblem(observed) !== undefined) return {};
  return { id: idOf(pool) ?? observed.candidateId };
}

/** The phase summarizes the conditions for people; no decision about children reads it. */
export function summarizePoolPhase(conditions: Conditions): NodePoolPhase {
  const ready = findCondition(conditions, "Ready");
  if (ready?.reason === "Deleting") return "Deleting";
  const isReady = ready?.status === "True";
  if (!isReady && findCondition(conditions, "Stalled")?.status === "True") return "Failed";
  if (ready?.reason === "NodesUnhealthy") return "Scaling";
  if (!isReady) return "Provisioning";
  // What is not up to date and does not change is blocked.
  const isChanging =
    findCondition(conditions, "Scaling")?.status === "True" ||
    (findCondition(conditions, "UpToDate")?.status !== "True" &&
      findCondition(conditions, "Reconciling")?.status === "True");
  return isChanging ? "Scaling" : "Ready";
}

function findTransitions(
  last: NodePoolStatus | undefined,
  conditions: Conditions,
  firstReadyAt: string | undefined,
): NewTransition[] {
  const transitions: NewTransition[] = [];
  const stalled = findCondition(conditions, "Stalled");
  if (last?.firstReadyAt === undefined && firstReadyAt !== undefined) transitions.push({ type: "Ready" });
  if (
    summarizePoolPhase(conditions) === "Failed" &&
    summarizePoolPhase(last?.conditions ?? []) !== "Failed"
  ) {
    transitions.push({ type: "Failed", ...(stalled && { reason: stalled.reason }) });
  }
  return transitions;
}

/** One sentence while something has failed or has waited for long; otherwise nothing. */
function composeMessage(conditions: Conditions, reportsWaits: boolean): string | undefined {
  const protection = findCondition(conditions, "DeletionProtected");
  if (protection?.reason === "NamespaceDeleting") return protection.message;
  const stalled = findCondition(conditions, "Stalled");
  if (stalled?.status === "True") return stalled.message;
  const ready = findCondition(conditions, "Ready");
  if (ready?.reason === "NodesUnhealthy") return ready.message;
  const reconciling = findCondition(conditions, "Reconciling");
  if (reconciling?.status === "True" && reportsWaits) return reconciling.message;
  const autoscaling = findCondition(conditions, "Autoscaling");
  const isMissing = ["NotConfigured", "AutoscalerUnavailable"].includes(autoscaling?.reason ?? "");
  if (isMissing) return autoscaling?.message;
  const scaling = findCondition(conditions, "Scaling");
  if (scaling?.reason === "CountReleased") return scaling.message;
  const pending = protection?.status === "False" ? protection.message : undefined;
  return findCondition(conditions, "ExpiryHeld")?.message ?? pending;
}

/** In how many ms the message reports what is in progress; undefined = it does already, or nothing is. */
function findReportWaitMs(observed: ObservedPool, conditions: Conditions, now: Date): number | undefined {
  const reconciling = findCondition(conditions, "Reconciling");
  if (reconciling?.status !== "True") return undefined;
  const lacksCluster =
    observed.pool.metadata.deletionTimestamp === undefined && observed.cluster === undefined;
  const reportAfterMs = lacksCluster
    ? REPORT_MISSING_CLUSTER_AFTER_MS
    : observed.reportWaitAfterSeconds * 1000;
  const remainingMs = reportAfterMs - conditionAgeMs(reconciling, now);
  return remainingMs > 0 ? remainingMs : undefined;
}

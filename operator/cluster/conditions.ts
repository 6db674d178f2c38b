import {
  type ConditionLike,
  findCondition,
  type NewCondition,
  type Problem,
} from "../../shared/controller/conditions.ts";
import type { ClusterConditionType, ClusterPhase } from "../../shared/crd/cluster.ts";
import { INFRASTRUCTURE_LOST, truncateConditionMessage } from "../../shared/crd/conditions.ts";
import { ADVICE_BY_REASON } from "../../shared/crd/rest-words.ts";
import { listNames } from "../../shared/program/wording.ts";
import { explainRejection, PAUSED } from "../capi/tenant-messages.ts";
import { displayNameOf, isDeleting, isSuspended } from "../identity/identity.ts";
import type { PoolProgress } from "../node-pool/progress.ts";
import { DEGRADED_REASONS } from "./health.ts";
import {
  areRulesStillInForce,
  findRulesCondition,
  findRulesEvidence,
  isProviderReportCurrent,
  isWithoutRules,
  mayBeIgnored,
  NO_EVIDENCE_REASONS,
  type RulesState,
} from "./networks.ts";
import type { ObservedCluster } from "./observe.ts";
import { findBlockedUpgrade, type RequestedUpgrade } from "./upgrade-gate.ts";

/** The next step where a tenant can only wait. */
export const ADVICE = "If this lasts, ask the platform's operator to look at the cluster.";

export const SUSPENDED = `The cluster is suspended: nothing about it is changed, and what runs continues to run. ${ADVICE_BY_REASON.Suspended.kubectl}`;

type Conditions = readonly ConditionLike[];

export type ClusterCondition = NewCondition<ClusterConditionType>;

/** A node pool as its cluster's conditions see it. */
export interface MeasuredPool {
  /** What its owner calls it. */
  name: string;
  objectName: string;
  deleting: boolean;
  progress: PoolProgress;
}

/** What the conditions of a cluster are decided from. */
export interface Facts {
  observed: ObservedCluster;
  upgrade: RequestedUpgrade | undefined;
  problem: Problem | undefined;
  /** What a cluster without a problem waits for before anything of it is made. */
  wait: Problem | undefined;
  /** Parts that are not applied although everything else is. */
  unapplied: readonly (Problem & { field: string })[];
  /** Why a network rule alone waits, while everything else is done. */
  rulesProblem: Problem | undefined;
  /** Undefined = no network rules were decided. */
  rulesState: RulesState | undefined;
  /** All but those that are being deleted. */
  pools: readonly MeasuredPool[];
  /** The full version requested; undefined while it is not known. */
  target: string | undefined;
  /** The version of the last rollout that converged; before the first one has, that of the control plane. */
  running: string | undefined;
  /** The live Cluster API object has all that is decided, and Cluster API has observed it, unless the cluster is suspended. */
  isCarriedOut: boolean;
}

/** A condition with its message cut to the maximum length. */
export function clusterCondition(
  type: ClusterConditionType,
  status: "True" | "False" | "Unknown",
  reason: string,
  message: string,
): ClusterCondition {
  return { type, status, reason, message: truncateConditionMessage(message) };
}

/**
 * The conditions that follow from Cluster API and the specification; `composeConditions` adds the others and the summary.
 * Upgrading, UpgradeBlocked, ClusterAPIPaused and Suspended are there only while they say something.
 */
export function decideClusterConditions(facts: Facts): ClusterCondition[] {
  const { observed } = facts;
  const blocked = findBlockedUpgrade(facts.upgrade);
  const decided = [
    decideControlPlane(facts),
    decideWorkers(facts),
    decideEndpoint(observed),
    decideNetworkPolicy(facts),
    decideUpgrading(facts),
    blocked && clusterCondition("UpgradeBlocked", "True", blocked.reason, blocked.message),
    decidePaused(observed),
    decideSuspended(observed),
  ];
  return decided.filter((condition) => condition !== undefined);
}

function decideControlPlane({ observed: { cluster, capi }, problem, wait }: Facts): ClusterCondition {
  const type = "ControlPlaneReady";
  const state = capi?.state;
  if (state === undefined && cluster.metadata.deletionTimestamp !== undefined) {
    return clusterCondition(type, "False", "Deleting", "The control plane is deleted.");
  }
  const keptBack = problem ?? wait ?? (isSuspended(cluster) ? { reason: "Suspended" } : undefined);
  if (capi === undefined && cluster.status?.firstReadyAt === undefined && keptBack !== undefined)
    return clusterCondition(type, "Unknown", keptBack.reason, "There is no control plane yet.");
  if (!state?.controlPlaneInitialized) {
    return cluster.status?.firstReadyAt === undefined
      ? clusterCondition(type, "False", "Provisioning", "The control plane is being provisioned.")
      : clusterCondition(type, "False", INFRASTRUCTURE_LOST, "The control plane is not there any more.");
  }
  if (state.controlPlaneFailure === undefined) {
    return clusterCondition(type, "True", "Available", "The control plane is available.");
  }
  const message = `The control plane of ${displayNameOf(cluster)} is unavailable: ${state.controlPlaneFailure}. ${ADVICE}`;
  return clusterCondition(type, "False", "ControlPlaneUnavailable", message);
}

/** Pools that a quota, a duplicate name or a rejection keeps back are not waited for, but the cluster is not without pools either. */
function decideWorkers({ observed: { cluster, capi, pools: all }, pools }: Facts): ClusterCondition {
  const type = "WorkersReady";
  if (cluster.metadata.deletionTimestamp !== undefined) {
    const message = all.length === 0 ? "The workers are deleted." : "The workers are being deleted.";
    return clusterCondition(type, "False", "Deleting", message);
  }
  const kept = all.filter(({ pool }) => !isDeleting(pool)).map(({ pool }) => displayNameOf(pool));
  if (pools.length === 0 && kept.length > 0) {
    const message = `No node pool of the cluster is made yet; look at the message of each for what it waits for: ${listNames(kept)}.`;
    return clusterCondition(type, "Unknown", "WaitingForNodePools", message);
  }
  if (pools.length === 0 && !capi?.state.controlPlaneInitialized) {
    const message = "The cluster has no node pools yet; those that it gets start after its control plane.";
    return clusterCondition(type, "Unknown", "WaitingForControlPlane", message);
  }
  if (pools.length === 0)
    return clusterCondition(type, "True", "NoNodePools", "The cluster has no node pools.");
  const reasons = {
    rollingOut: "RollingOut",
    scaling: "Scaling",
    updating: "Updating",
    absent: "WaitingForNodes",
    unhealthy: "NodesUnhealthy",
  } as const;
  for (const [state, reason] of Object.entries(reasons)) {
    const open = pools.filter((pool) => pool.progress.state === state);
    if (open.length > 0) return clusterCondition(type, "False", reason, describeOpenPools(open));
  }
  return clusterCondition(type, "True", "Available", "All nodes are ready.");
}

/** Without counts: those of each pool are in its own status, and would make a write of this one whenever they move. */
function describeOpenPools(open: readonly MeasuredPool[]): string {
  const [oldest] = open.flatMap(({ progress }) => progress.joining);
  const next =
    oldest === undefined
      ? "Look at the message of each for what it waits for."
      : `Machine ${oldest.name} has not joined: ${oldest.waitsFor}. ${ADVICE}`;
  return `Node pools that do not have all their nodes as specified: ${listNames(open.map(({ name }) => name))}. ${next}`;
}

function decideEndpoint(observed: ObservedCluster): ClusterCondition {
  const type = "EndpointReachable";
  const { cluster, probe, capi } = observed;
  if (!cluster.spec.publicEndpoint) {
    const message = "The endpoint is private and cannot be probed from the management cluster.";
    return clusterCondition(type, "Unknown", "PrivateEndpoint", message);
  }
  if (capi?.state.endpoint === undefined) {
    return clusterCondition(type, "Unknown", "WaitingForEndpoint", "There is no endpoint yet.");
  }
  if (probe === undefined) {
    const last = findCondition(cluster.status?.conditions, type);
    return last === undefined
      ? clusterCondition(type, "Unknown", "WaitingForEndpoint", "The endpoint has not been probed yet.")
      : clusterCondition(type, last.status, last.reason, last.message);
  }
  if (probe.ok) {
    return clusterCondition(type, "True", "EndpointReachable", "The endpoint responds over verified TLS.");
  }
  const { url } = capi.state.endpoint;
  const message = `The API endpoint ${url} does not respond: ${probe.message}. ${ADVICE}`;
  return clusterCondition(type, "False", "EndpointUnreachable", message);
}

/** Why network rules that are to be sent are not, or are sent and have no effect; beside any other problem they are applied. */
const RULES_PREVENTED_BY: readonly string[] = ["RejectedByClusterAPI", "QuotaExceeded", "NodePoolsMissing"];

/** Unknown until something is observed; False stays until the opposite is observed. */
function decideNetworkPolicy(facts: Facts): ClusterCondition {
  const type = "NetworkPolicyApplied";
  const { observed, problem, rulesProblem, rulesState } = facts;
  if (rulesProblem !== undefined)
    return clusterCondition(type, "False", rulesProblem.reason, rulesProblem.message);
  if (rulesState === "waiting") {
    const message = `The network rules are not in force as specified: the cluster is suspended, and they wait for its resumption; until then the previous rules stay in force. ${ADVICE_BY_REASON.Suspended.kubectl}`;
    return clusterCondition(type, "False", "Suspended", message);
  }
  const unknown = (reason: string, why = ".") =>
    clusterCondition(type, "Unknown", reason, `Whether the network rules are in force is not known${why}`);
  const isIgnorable = mayBeIgnored(observed);
  const isReportCurrent = isProviderReportCurrent(facts);
  const evidence = isReportCurrent ? findRulesEvidence(observed) : undefined;
  if ((isIgnorable && rulesState === "sent") || evidence === "requested") {
    const why =
      ": the infrastructure may ignore them without saying so. Try the endpoint from another network, or ask the platform's operator whether they are enforced.";
    return unknown("RequestedOnly", why);
  }
  const last = findRulesCondition(observed);
  const unknownBefore = observed.capi && NO_EVIDENCE_REASONS.includes(last?.reason) ? last : undefined;
  if (problem !== undefined && rulesState === undefined) {
    if (!isWithoutRules(observed)) return unknownBefore ?? unknown(problem.reason);
    return clusterCondition(type, "True", "Applied", "There are no network rules.");
  }
  const isStillInForce = rulesState !== "unsent" && areRulesStillInForce(observed);
  if ((isStillInForce || evidence === "inForce") && !isIgnorable)
    return clusterCondition(type, "True", "Applied", "The network rules are in force.");
  if (observed.cluster.metadata.deletionTimestamp !== undefined) return unknown("Deleting");
  const { hasActed, unreadable } = observed.infrastructure ?? {};
  if (unreadable !== undefined && isReportCurrent) return unknown("ProviderUnreadable", `: ${unreadable}`);
  if (rulesState === "sent" && hasActed === undefined && unknownBefore !== undefined) return unknownBefore;
  if (isSuspended(observed.cluster)) {
    const why = `: the cluster was suspended before that was seen. ${ADVICE_BY_REASON.Suspended.kubectl}`;
    return unknown("Suspended", why);
  }
  if (observed.capi === undefined)
    return unknown((problem ?? facts.wait ?? { reason: "Provisioning" }).reason);
  const cause = RULES_PREVENTED_BY.includes(problem?.reason ?? "") ? problem : undefined;
  const { reason } = cause ?? { reason: "Provisioning" };
  if (rulesState !== "unsent" && last?.status !== "False") return unknown(reason);
  const state = cause === undefined ? `being applied. ${ADVICE}` : "not in force as specified.";
  return clusterCondition(type, "False", reason, `The network rules are ${state}`);
}

function decideUpgrading(facts: Facts): ClusterCondition | undefined {
  const { target, running } = facts;
  const gate = facts.upgrade?.gate;
  if (gate?.state === "checking")
    return clusterCondition("Upgrading", "True", "CheckingUpgrade", gate.message);
  if (running === undefined || target === undefined || running === target) return undefined;
  const paused = decidePaused(facts.observed);
  if (paused !== undefined) {
    const message = `The upgrade from ${running} to ${target} waits. ${paused.message}`;
    return clusterCondition("Upgrading", "True", paused.reason, message);
  }
  const message = `Upgrading from ${running} to ${target}: ${describeStage(facts)}.`;
  return clusterCondition("Upgrading", "True", "Upgrading", message);
}

/** Cluster API upgrades the control plane first, then one pool after another. */
function describeStage({ observed, pools, running }: Facts): string {
  if (observed.upgradeRejection !== undefined)
    return `Cluster API waits: ${explainRejection(observed.upgradeRejection)}`;
  const state = observed.capi?.state;
  const next = state?.topologyVersion;
  if (state === undefined || next === undefined || next === running)
    return state?.rollingOut ? "waiting for machines that are being replaced" : "waiting to start";
  const behind = state.controlPlaneVersions.some((version) => version !== next);
  if (behind || state.controlPlaneVersions.length === 0) return `the control plane is upgrading to ${next}`;
  const open = pools.filter(
    ({ progress }) => progress.nodes > 0 && (progress.version !== next || progress.state !== "converged"),
  );
  return open.length === 0
    ? `everything runs ${next}, Cluster API is completing the rollout`
    : `the control plane runs ${next}; node pools that follow: ${listNames(open.map(({ name }) => name))}`;
}

function decidePaused({ cluster, capi }: ObservedCluster): ClusterCondition | undefined {
  if (capi?.state.paused !== true) return undefined;
  return isSuspended(cluster)
    ? clusterCondition("ClusterAPIPaused", "True", "Suspended", SUSPENDED)
    : clusterCondition("ClusterAPIPaused", "True", "Paused", PAUSED);
}

/** True once Cluster API has confirmed its pause. */
function decideSuspended({ cluster, capi }: ObservedCluster): ClusterCondition | undefined {
  if (!isSuspended(cluster)) return undefined;
  if (capi === undefined || capi.state.paused)
    return clusterCondition("Suspended", "True", "Suspended", SUSPENDED);
  const message = "The cluster is being suspended: Cluster API is being paused.";
  return clusterCondition("Suspended", "False", "Suspending", message);
}

/** The phase, which summarizes the conditions. */
export function summarizeClusterPhase(conditions: Conditions): ClusterPhase {
  const ready = findCondition(conditions, "Ready");
  if (ready?.reason === "Deleting") return "Deleting";
  if (isDegraded(conditions)) return "Degraded";
  if (ready?.status !== "True") {
    return findCondition(conditions, "Stalled")?.status === "True" ? "Failed" : "Provisioning";
  }
  if (findCondition(conditions, "Upgrading")?.status === "True") return "Upgrading";
  return findCondition(conditions, "WorkersReady")?.status === "False" ? "Scaling" : "Ready";
}

/** Whether a cluster that was ready before is degraded. */
export function isDegraded(conditions: Conditions): boolean {
  const ready = findCondition(conditions, "Ready");
  return ready?.status === "False" && DEGRADED_REASONS.includes(ready.reason);
}

import { type ConditionLike, findCondition, type Problem } from "../../shared/controller/conditions.ts";
import { INFRASTRUCTURE_LOST } from "../../shared/crd/conditions.ts";
import { listNames } from "../../shared/program/wording.ts";
import { explain, explainRejection, PAUSED } from "../capi/tenant-messages.ts";
import { displayNameOf, isSuspended } from "../identity/identity.ts";
import { ANNOTATION_PAUSED } from "./children.ts";
import { ADVICE, type ClusterCondition, clusterCondition, type Facts, SUSPENDED } from "./conditions.ts";
import type { ApplyFailure, ObservedCluster } from "./observe.ts";

const UNAVAILABLE = `Cluster API does not respond and is retried automatically. ${ADVICE}`;

type Conditions = readonly ConditionLike[];

/**
 * The summary conditions Ready, Reconciling and, while only a person can help, Stalled, decided together so that they never
 * contradict each other.
 */
export function decideSummary(
  facts: Facts,
  conditions: Conditions,
  degraded: Problem | undefined,
): ClusterCondition[] {
  const { observed, rulesProblem, unapplied } = facts;
  const isDeleting = observed.cluster.metadata.deletionTimestamp !== undefined;
  const ready = decideReady(facts, conditions, degraded);
  // A cluster that is being created is not stalled by a part that alone waits.
  const isCreated = observed.cluster.status?.firstReadyAt !== undefined;
  const problem =
    facts.problem ??
    (isDeleting ? findRejectedDeletion(observed.applyFailure) : undefined) ??
    (isCreated ? (unapplied[0] ?? rulesProblem) : undefined);
  const progress = problem === undefined ? findProgress(facts, conditions, ready) : undefined;
  const reconciling = decideReconciling(progress, problem);
  if (problem === undefined) return [ready, reconciling];
  return [ready, reconciling, clusterCondition("Stalled", "True", problem.reason, problem.message)];
}

function decideReady(facts: Facts, conditions: Conditions, degraded: Problem | undefined): ClusterCondition {
  const { observed, problem, wait: decidedWait } = facts;
  const notReady = ({ reason, message }: Problem) => clusterCondition("Ready", "False", reason, message);
  if (observed.cluster.metadata.deletionTimestamp !== undefined) {
    return notReady({ reason: "Deleting", message: describeDeletion(observed) });
  }
  if (degraded !== undefined) return notReady(degraded);
  const wasReady = observed.cluster.status?.firstReadyAt !== undefined;
  const cause = wasReady ? undefined : (problem ?? decidedWait ?? findInitialWait(observed, conditions));
  return cause === undefined
    ? clusterCondition("Ready", "True", "Available", "The cluster is available.")
    : notReady(cause);
}

/** Why a deletion waits that Cluster API rejects; undefined = it does not. */
function findRejectedDeletion(applyFailure: ApplyFailure | undefined): Problem | undefined {
  if (applyFailure?.kind !== "rejected") return undefined;
  const message = `Deletion waits. Cluster API rejects it: ${explainRejection(applyFailure.message)}. Ask the platform's operator to look at the cluster.`;
  return { reason: "RejectedByClusterAPI", message };
}

/** The problem when Cluster API rejects a patch, which changes nothing of the specification: as a pause, or its end. */
export function composeRejectedPatch({ cluster, capi }: ObservedCluster, text: string): Problem {
  const isResumed = capi?.object.metadata.annotations?.[ANNOTATION_PAUSED] !== undefined;
  const change = isResumed ? "the resumption of the cluster" : "a change that the platform makes";
  const what = isSuspended(cluster) ? "the suspension of the cluster" : change;
  const message = `Cluster API rejects ${what}: ${explainRejection(text)}. Ask the platform's operator to look at the cluster.`;
  return { reason: "RejectedByClusterAPI", message };
}

function decideReconciling(progress: Problem | undefined, problem: Problem | undefined): ClusterCondition {
  if (progress !== undefined)
    return clusterCondition("Reconciling", "True", progress.reason, progress.message);
  if (problem !== undefined) return clusterCondition("Reconciling", "False", problem.reason, problem.message);
  const message = "The cluster is as specified.";
  return clusterCondition("Reconciling", "False", "ReconciliationSucceeded", message);
}

/** What a cluster that was never ready waits for; undefined = nothing. */
function findInitialWait(observed: ObservedCluster, conditions: Conditions): Problem | undefined {
  const { cluster, capi } = observed;
  const name = displayNameOf(cluster);
  if (observed.applyFailure?.kind === "unavailable") {
    return { reason: "ClusterAPIUnavailable", message: UNAVAILABLE };
  }
  const state = capi?.state;
  if (isSuspended(cluster)) return { reason: "Suspended", message: SUSPENDED };
  if (state?.paused) return { reason: "Paused", message: PAUSED };
  if (!state?.controlPlaneInitialized) {
    const cause = state?.blockingCondition === undefined ? "" : `: ${explain(state.blockingCondition)}`;
    const message = `The control plane of ${name} is being provisioned${cause}. ${ADVICE}`;
    return { reason: "WaitingForControlPlane", message };
  }
  const workers = findCondition(conditions, "WorkersReady");
  // Unknown = no pool may be made, which the cluster does not wait for.
  if (workers?.status === "False") {
    return { reason: "WaitingForNodes", message: workers.message };
  }
  if (state.available?.status !== "True") {
    const cause = state.available
      ? explain(state.available)
      : "Cluster API has not reported it available yet";
    return { reason: "WaitingForNodes", message: `The cluster ${name} is not complete: ${cause}. ${ADVICE}` };
  }
  const endpoint = findCondition(conditions, "EndpointReachable");
  if (endpoint?.status === "True" || endpoint?.reason === "PrivateEndpoint") return undefined;
  const message =
    endpoint?.status === "False"
      ? endpoint.message
      : `The API endpoint of ${name} has not responded yet: ${endpoint?.message ?? "there is none"} ${ADVICE}`;
  return { reason: "WaitingForEndpoint", message };
}

/** What is in progress, the most specific first; undefined = the cluster is as specified. */
function findProgress(facts: Facts, conditions: Conditions, ready: ClusterCondition): Problem | undefined {
  const { observed } = facts;
  if (observed.applyFailure?.kind === "unavailable") {
    return { reason: "ClusterAPIUnavailable", message: UNAVAILABLE };
  }
  if (isSuspended(observed.cluster)) return { reason: "Suspended", message: SUSPENDED };
  if (observed.capi?.state.paused) return findCondition(conditions, "ClusterAPIPaused");
  const wasReady = observed.cluster.status?.firstReadyAt !== undefined;
  const concernsWholeCluster = [INFRASTRUCTURE_LOST, "Deleting"].includes(ready.reason);
  if (ready.status === "False" && (!wasReady || concernsWholeCluster)) return ready;
  const policy = findCondition(conditions, "NetworkPolicyApplied");
  const policyNote = policy?.status === "False" ? ` ${policy.message}` : "";
  const upgrading = findCondition(conditions, "Upgrading");
  if (upgrading?.status === "True") return { ...upgrading, message: `${upgrading.message}${policyNote}` };
  const workers = findCondition(conditions, "WorkersReady");
  if (workers?.status === "False") return { ...workers, message: `${workers.message}${policyNote}` };
  if (observed.capi?.state.rollingOut) {
    return { reason: "RollingOut", message: `Machines are being replaced one after another.${policyNote}` };
  }
  return facts.isCarriedOut
    ? undefined
    : { reason: "Provisioning", message: `Cluster API has not observed the change yet. ${ADVICE}` };
}

function describeDeletion(observed: ObservedCluster): string {
  const { capi, pools } = observed;
  const rejected = findRejectedDeletion(observed.applyFailure);
  if (rejected !== undefined) return rejected.message;
  if (capi?.state.paused) return `Deletion waits. ${PAUSED}`;
  const remaining = pools.map(({ pool }) => displayNameOf(pool));
  if (capi === undefined) {
    return remaining.length === 0
      ? "Cluster API has deleted the cluster."
      : `Cluster API has deleted the cluster; remaining node pools: ${listNames(remaining)}.`;
  }
  const { deletion } = capi.state;
  if (observed.applyFailure?.kind === "unavailable") return `Deletion waits. ${UNAVAILABLE}`;
  if (deletion?.status === "True") {
    return `Cluster API is deleting the cluster: ${explain(deletion)}. ${ADVICE}`;
  }
  return capi.state.deleting
    ? "Cluster API is deleting the cluster."
    : "The deletion is being passed on to Cluster API.";
}

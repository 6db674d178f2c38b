import type { ClusterConditionType } from "../../shared/crd/cluster.ts";
import { clipConditionMessage } from "../../shared/crd/conditions.ts";
import type { EngineState } from "../engine/cluster-state.ts";
import type { EngineCondition } from "../engine/kinds.ts";
import type { PoolProgress } from "../node-pool/progress.ts";
import { type ConditionLike, type Fault, findCondition, type NewCondition } from "../runtime/conditions.ts";
import type { Ailment } from "./health.ts";
import type { ObservedCluster } from "./observe.ts";

type Decided = NewCondition<ClusterConditionType>;

/** The pools of a cluster as the cluster sees them. */
export interface PoolView {
  name: string;
  /** It is being deleted. */
  leaving: boolean;
  progress: PoolProgress;
}

export interface Facts {
  observed: ObservedCluster;
  fault: Fault | undefined;
  pools: readonly PoolView[];
  /** The full version wanted; undefined while it is not known. */
  target: string | undefined;
  /** The version that runs, once a rollout has settled. */
  running: string | undefined;
  /** The live engine object is what was decided, and the engine has acted on it. */
  taken: boolean;
}

function decide(
  type: ClusterConditionType,
  status: "True" | "False" | "Unknown",
  reason: string,
  message: string,
): Decided {
  return { type, status, reason, message: clipConditionMessage(message) };
}

/** The conditions about single aspects; the sums (Ready, Reconciling, Stalled) follow from them. */
export function decideAspects(facts: Facts): Decided[] {
  return [
    decideControlPlane(facts.observed.engine?.state),
    decideWorkers(facts.pools),
    decideEndpoint(facts.observed),
    decideNetworkPolicy(facts),
    decideUpgrading(facts),
    facts.observed.engine?.state.paused === true
      ? decide("EnginePaused", "True", "EnginePaused", describePause(facts.observed))
      : decide("EnginePaused", "False", "Settled", "The engine is at work."),
  ];
}

function decideControlPlane(state: EngineState | undefined): Decided {
  const type = "ControlPlaneReady";
  if (!state?.controlPlaneInitialized) {
    return decide(type, "False", "Provisioning", "The control plane is being made.");
  }
  const { controlPlaneAvailable, remoteConnection } = state;
  const lost = [controlPlaneAvailable, remoteConnection].find((condition) => condition?.status === "False");
  if (lost !== undefined) return decide(type, "False", "ControlPlaneUnavailable", explain(lost));
  if (controlPlaneAvailable?.status !== "True") {
    const message = controlPlaneAvailable ? explain(controlPlaneAvailable) : "Nothing is known of it.";
    return decide(type, "False", "ControlPlaneUnavailable", message);
  }
  return decide(type, "True", "Available", "The control plane is up.");
}

function decideWorkers(pools: readonly PoolView[]): Decided {
  const type = "WorkersReady";
  if (pools.length === 0) return decide(type, "True", "NoNodePools", "The cluster has no node pools.");
  const reasons = {
    rollingOut: "RollingOut",
    scaling: "Scaling",
    absent: "WaitingForNodes",
    unhealthy: "NodesUnhealthy",
  } as const;
  for (const [state, reason] of Object.entries(reasons)) {
    const open = pools.filter((pool) => pool.progress.state === state);
    if (open.length === 0) continue;
    const counts = open.map(({ name, progress }) => `${name} ${progress.readyNodes} of ${progress.wanted}`);
    return decide(type, "False", reason, `Nodes ready by pool: ${counts.join(", ")}.`);
  }
  return decide(type, "True", "Available", "All nodes are ready.");
}

function decideEndpoint(observed: ObservedCluster): Decided {
  const type = "EndpointReachable";
  if (!observed.cluster.spec.publicEndpoint) {
    return decide(
      type,
      "Unknown",
      "PrivateEndpoint",
      "The endpoint is private; it cannot be seen from here.",
    );
  }
  const { probe, engine } = observed;
  if (engine?.state.endpoint === undefined) {
    return decide(type, "Unknown", "WaitingForEndpoint", "There is no endpoint yet.");
  }
  if (probe === undefined) {
    const last = findCondition(observed.cluster.status?.conditions, type);
    const unasked = decide(type, "Unknown", "WaitingForEndpoint", "The endpoint was not asked yet.");
    return last === undefined ? unasked : decide(type, last.status, last.reason, last.message);
  }
  return probe.ok
    ? decide(type, "True", "EndpointAnswers", "The endpoint answers over verified TLS.")
    : decide(type, "False", "EndpointUnreachable", `The endpoint does not answer: ${probe.message}.`);
}

function decideNetworkPolicy(facts: Facts): Decided {
  const type = "NetworkPolicyApplied";
  if (facts.fault !== undefined) {
    return decide(type, "False", facts.fault.reason, "The network rules that are wanted are not in force.");
  }
  return facts.taken
    ? decide(type, "True", "Applied", "The network rules are in force.")
    : decide(type, "False", "Provisioning", "The network rules are on their way to the engine.");
}

function decideUpgrading({ target, running }: Facts): Decided {
  const type = "Upgrading";
  if (running === undefined || target === undefined || running === target) {
    return decide(type, "False", "Settled", "No upgrade is under way.");
  }
  return decide(type, "True", "Upgrading", `Upgrading from ${running} to ${target}.`);
}

/** Ready, Reconciling and Stalled, in one go: they must not contradict each other. */
export function decideSums(
  facts: Facts,
  aspects: readonly ConditionLike<ClusterConditionType>[],
  ailment: Ailment | undefined,
): Decided[] {
  const ready = decideReady(facts, aspects, ailment);
  const { fault } = facts;
  const open = fault === undefined ? findUnsettled(facts, aspects, ready) : undefined;
  const { reason, message } = open ?? fault ?? { reason: "Settled", message: "The cluster is as wanted." };
  return [
    ready,
    decide("Reconciling", open === undefined ? "False" : "True", reason, message),
    fault === undefined
      ? decide("Stalled", "False", reason, "Nothing stands in the way.")
      : decide("Stalled", "True", fault.reason, fault.message),
  ];
}

function decideReady(
  facts: Facts,
  aspects: readonly ConditionLike<ClusterConditionType>[],
  ailment: Ailment | undefined,
): Decided {
  const { observed, fault } = facts;
  const no = (reason: string, message: string) => decide("Ready", "False", reason, message);
  if (observed.cluster.metadata.deletionTimestamp !== undefined)
    return no("Deleting", describeDeletion(observed));
  if (ailment !== undefined) return no(ailment.reason, ailment.message);
  if (observed.cluster.status?.firstReadyAt !== undefined) {
    return decide("Ready", "True", "Available", "The cluster serves.");
  }
  if (fault !== undefined) return no(fault.reason, fault.message);
  if (observed.applyFailure !== undefined) {
    return no("EngineUnavailable", `The engine does not answer: ${observed.applyFailure.message}`);
  }
  const state = observed.engine?.state;
  if (state?.paused) return no("EnginePaused", describePause(observed));
  if (!state?.controlPlaneInitialized)
    return no("WaitingForControlPlane", "The control plane is being made.");
  if (state.available?.status !== "True") {
    return no("WaitingForNodes", state.available ? explain(state.available) : "The engine is not done yet.");
  }
  const endpoint = findCondition(aspects, "EndpointReachable");
  if (endpoint?.status !== "True" && endpoint?.reason !== "PrivateEndpoint") {
    return no("WaitingForEndpoint", endpoint?.message ?? "There is no endpoint yet.");
  }
  return decide("Ready", "True", "Available", "The cluster serves.");
}

/** What still moves, the most telling first; undefined = the cluster is as wanted. */
function findUnsettled(
  facts: Facts,
  aspects: readonly ConditionLike<ClusterConditionType>[],
  ready: Decided,
): { reason: string; message: string } | undefined {
  const { observed } = facts;
  if (observed.applyFailure !== undefined) {
    return { reason: "EngineUnavailable", message: clipConditionMessage(observed.applyFailure.message) };
  }
  if (observed.engine?.state.paused) return findCondition(aspects, "EnginePaused");
  const wasReady = observed.cluster.status?.firstReadyAt !== undefined;
  if (ready.status === "False" && (!wasReady || ready.reason === "Deleting")) return ready;
  const upgrading = findCondition(aspects, "Upgrading");
  if (upgrading?.status === "True") return upgrading;
  const workers = findCondition(aspects, "WorkersReady");
  if (workers?.status === "False") return workers;
  if (observed.engine?.state.rollingOut) {
    return { reason: "RollingOut", message: "Machines are being replaced one after another." };
  }
  return facts.taken
    ? undefined
    : { reason: "Provisioning", message: "The change is on its way to the engine." };
}

function describePause({ cluster }: ObservedCluster): string {
  const { namespace, name } = cluster.metadata;
  return `The engine has been told to leave this cluster alone: set spec.paused of the Cluster API Cluster ${namespace}/${name} to false.`;
}

function describeDeletion(observed: ObservedCluster): string {
  const state = observed.engine?.state;
  if (state === undefined) return "The engine has nothing of the cluster left.";
  if (state.paused) return `Deletion waits. ${describePause(observed)}`;
  const { deletion } = state;
  return deletion === undefined ? "The engine was told to delete it." : explain(deletion);
}

/** The engine writes lists of bullets; one line is wanted, and the reason when there is no text. */
export function explain(condition: EngineCondition): string {
  const text = (condition.message ?? "")
    .split("\n")
    .map((line) => line.trim().replace(/^\* /, ""))
    .filter((line) => line !== "")
    .join("; ");
  return text === "" ? condition.reason : text;
}

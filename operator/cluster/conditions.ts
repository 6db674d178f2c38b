import { type Fault, findCondition, type NewCondition } from "../../shared/controller/conditions.ts";
import type { ClusterConditionType } from "../../shared/crd/cluster.ts";
import { clipConditionMessage } from "../../shared/crd/conditions.ts";
import type { EngineState } from "../engine/cluster-state.ts";
import { explain } from "../engine/explain.ts";
import type { PoolProgress } from "../node-pool/progress.ts";
import { adviseOperator, describePause } from "./advice.ts";
import type { ObservedCluster } from "./observe.ts";

export type Decided = NewCondition<ClusterConditionType>;

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

/** A condition with its message cut to what the API takes. */
export function decide(
  type: ClusterConditionType,
  status: "True" | "False" | "Unknown",
  reason: string,
  message: string,
): Decided {
  return { type, status, reason, message: clipConditionMessage(message) };
}

/** The conditions about single aspects; the sums (Ready, Reconciling, Stalled) follow from them. */
export function decideAspects(facts: Facts): Decided[] {
  const { observed } = facts;
  return [
    decideControlPlane(observed),
    decideWorkers(facts.pools),
    decideEndpoint(observed),
    decideNetworkPolicy(facts),
    decideUpgrading(facts),
    observed.engine?.state.paused === true
      ? decide("EnginePaused", "True", "EnginePaused", describePause(observed.cluster))
      : decide("EnginePaused", "False", "Settled", "The engine is at work."),
  ];
}

function decideControlPlane({ cluster, engine }: ObservedCluster): Decided {
  const type = "ControlPlaneReady";
  const state = engine?.state;
  if (state === undefined && cluster.metadata.deletionTimestamp !== undefined) {
    return decide(type, "False", "Deleting", "The control plane is gone.");
  }
  if (!state?.controlPlaneInitialized) {
    return decide(type, "False", "Provisioning", "The control plane is being made.");
  }
  const lost = findLostSign(state);
  if (lost === undefined) return decide(type, "True", "Available", "The control plane is up.");
  const message = `The control plane of ${cluster.metadata.name} is not well: ${lost}. ${adviseOperator(cluster)}`;
  return decide(type, "False", "ControlPlaneUnavailable", message);
}

/** What speaks against a control plane that was up; undefined = nothing. */
function findLostSign({ controlPlaneAvailable, remoteConnection }: EngineState): string | undefined {
  const lost = [controlPlaneAvailable, remoteConnection].find((condition) => condition?.status === "False");
  if (lost !== undefined) return explain(lost);
  if (controlPlaneAvailable?.status === "True") return undefined;
  return controlPlaneAvailable === undefined
    ? "the engine says nothing of it"
    : explain(controlPlaneAvailable);
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
    if (open.length > 0) return decide(type, "False", reason, describeOpenPools(open));
  }
  return decide(type, "True", "Available", "All nodes are ready.");
}

function describeOpenPools(open: readonly PoolView[]): string {
  const counts = open.map(({ name, progress }) => `${name} ${progress.readyNodes} of ${progress.wanted}`);
  const [late] = open.flatMap(({ progress }) => progress.joining);
  const cause = late === undefined ? "" : ` Machine ${late.name} has not joined: ${late.waitsFor}.`;
  return `Nodes ready by pool: ${counts.join(", ")}.${cause}`;
}

function decideEndpoint(observed: ObservedCluster): Decided {
  const type = "EndpointReachable";
  const { cluster, probe, engine } = observed;
  if (!cluster.spec.publicEndpoint) {
    const message = "The endpoint is private; it cannot be seen from here.";
    return decide(type, "Unknown", "PrivateEndpoint", message);
  }
  if (engine?.state.endpoint === undefined) {
    return decide(type, "Unknown", "WaitingForEndpoint", "There is no endpoint yet.");
  }
  if (probe === undefined) {
    const last = findCondition(cluster.status?.conditions, type);
    const unasked = decide(type, "Unknown", "WaitingForEndpoint", "The endpoint was not asked yet.");
    return last === undefined ? unasked : decide(type, last.status, last.reason, last.message);
  }
  if (probe.ok) return decide(type, "True", "EndpointAnswers", "The endpoint answers over verified TLS.");
  const { url } = engine.state.endpoint;
  const message = `The API endpoint ${url} does not answer: ${probe.message}. ${adviseOperator(cluster)}`;
  return decide(type, "False", "EndpointUnreachable", message);
}

function decideNetworkPolicy(facts: Facts): Decided {
  const type = "NetworkPolicyApplied";
  if (facts.taken || (facts.fault === undefined && isStillInForce(facts, type)))
    return decide(type, "True", "Applied", "The network rules are in force.");
  if (facts.fault !== undefined) {
    return decide(type, "False", facts.fault.reason, "The network rules that are wanted are not in force.");
  }
  return decide(type, "False", "Provisioning", "The network rules are on their way to the engine.");
}

/** A change of its pools alone, or its deletion, which the engine has not acted on yet, leaves the rules as they are. */
function isStillInForce({ observed: { cluster, engine } }: Facts, type: string): boolean {
  if (engine === undefined) return false;
  const { generation, deletionTimestamp } = cluster.metadata;
  const last = findCondition(cluster.status?.conditions, type);
  return (
    last?.status === "True" && (last.observedGeneration === generation || deletionTimestamp !== undefined)
  );
}

function decideUpgrading(facts: Facts): Decided {
  const { target, running } = facts;
  const type = "Upgrading";
  if (running === undefined || target === undefined || running === target) {
    return decide(type, "False", "Settled", "No upgrade is under way.");
  }
  const message = `Upgrading from ${running} to ${target}: ${describeStage(facts)}.`;
  return decide(type, "True", "Upgrading", message);
}

/** The engine upgrades the control plane first, then one pool after another. */
function describeStage({ observed, pools, running }: Facts): string {
  if (observed.upgradeRefusal !== undefined) return `the engine waits: ${observed.upgradeRefusal}`;
  const state = observed.engine?.state;
  const step = state?.version;
  if (state === undefined || step === undefined || step === running) return "waiting for its turn";
  const behind = state.controlPlaneVersions.some((version) => version !== step);
  if (behind || state.controlPlaneVersions.length === 0) return `control plane on its way to ${step}`;
  const open = pools.filter(
    ({ progress }) => progress.nodes > 0 && (progress.version !== step || progress.state !== "settled"),
  );
  const counts = open.map(({ name, progress }) => `${name} ${progress.upToDateNodes} of ${progress.wanted}`);
  return counts.length === 0
    ? `everything runs ${step}, the engine is finishing`
    : `control plane runs ${step}; nodes up to date by pool: ${counts.join(", ")}`;
}

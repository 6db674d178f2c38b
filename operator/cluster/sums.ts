import { type ConditionLike, findCondition } from "../../shared/controller/conditions.ts";
import type { ClusterConditionType } from "../../shared/crd/cluster.ts";
import { clipConditionMessage } from "../../shared/crd/conditions.ts";
import { explain } from "../engine/explain.ts";
import { adviseOperator, describePause } from "./advice.ts";
import { type Decided, decide, type Facts } from "./conditions.ts";
import type { Ailment } from "./health.ts";
import type { ObservedCluster } from "./observe.ts";

type Conditions = readonly ConditionLike<ClusterConditionType>[];

/** Ready, Reconciling and Stalled, in one go: they must not contradict each other. */
export function decideSums(facts: Facts, aspects: Conditions, ailment: Ailment | undefined): Decided[] {
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

function decideReady(facts: Facts, aspects: Conditions, ailment: Ailment | undefined): Decided {
  const { observed, fault } = facts;
  const no = (reason: string, message: string) => decide("Ready", "False", reason, message);
  if (observed.cluster.metadata.deletionTimestamp !== undefined)
    return no("Deleting", describeDeletion(observed));
  if (ailment !== undefined) return no(ailment.reason, ailment.message);
  if (observed.cluster.status?.firstReadyAt !== undefined) {
    return decide("Ready", "True", "Available", "The cluster serves.");
  }
  const wait = fault ?? findFirstWait(observed, aspects);
  return wait === undefined
    ? decide("Ready", "True", "Available", "The cluster serves.")
    : no(wait.reason, wait.message);
}

/** What a cluster that was never ready still lacks; undefined = nothing. */
function findFirstWait(
  observed: ObservedCluster,
  aspects: Conditions,
): { reason: string; message: string } | undefined {
  const { cluster, applyFailure, engine } = observed;
  const { name } = cluster.metadata;
  const advice = adviseOperator(cluster);
  if (applyFailure !== undefined) {
    return { reason: "EngineUnavailable", message: describeSilence(observed) };
  }
  const state = engine?.state;
  if (state?.paused) return { reason: "EnginePaused", message: describePause(cluster) };
  if (!state?.controlPlaneInitialized) {
    const cause = state?.holdUp === undefined ? "" : `: ${explain(state.holdUp)}`;
    const message = `The control plane of ${name} is being made${cause}. ${advice}`;
    return { reason: "WaitingForControlPlane", message };
  }
  const workers = findCondition(aspects, "WorkersReady");
  if (workers?.status === "False")
    return { reason: "WaitingForNodes", message: `${workers.message} ${advice}` };
  if (state.available?.status !== "True") {
    const cause = state.available ? explain(state.available) : "the engine is not done yet";
    return {
      reason: "WaitingForNodes",
      message: `The cluster ${name} is not whole yet: ${cause}. ${advice}`,
    };
  }
  const endpoint = findCondition(aspects, "EndpointReachable");
  if (endpoint?.status === "True" || endpoint?.reason === "PrivateEndpoint") return undefined;
  const message =
    endpoint?.status === "False"
      ? endpoint.message
      : `The API endpoint of ${name} has not been heard yet: ${endpoint?.message ?? "there is none"} ${advice}`;
  return { reason: "WaitingForEndpoint", message };
}

/** What still moves, the most telling first; undefined = the cluster is as wanted. */
function findUnsettled(
  facts: Facts,
  aspects: Conditions,
  ready: Decided,
): { reason: string; message: string } | undefined {
  const { observed } = facts;
  if (observed.applyFailure !== undefined) {
    return { reason: "EngineUnavailable", message: clipConditionMessage(describeSilence(observed)) };
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

function describeSilence({ cluster, applyFailure }: ObservedCluster): string {
  return `The engine does not answer and is asked again by itself: ${applyFailure?.message}. ${adviseOperator(cluster)}`;
}

function describeDeletion(observed: ObservedCluster): string {
  const { cluster, engine, pools } = observed;
  if (engine?.state.paused) return `Deletion waits. ${describePause(cluster)}`;
  const left = pools.map(({ pool }) => pool.metadata.name);
  if (engine === undefined) {
    return left.length === 0
      ? "The engine has nothing of the cluster left."
      : `The engine has nothing of the cluster left; node pools that are still there: ${left.join(", ")}.`;
  }
  const { deletion } = engine.state;
  if (observed.applyFailure !== undefined) return `Deletion waits. ${describeSilence(observed)}`;
  if (deletion?.status === "True") {
    return `The engine deletes it: ${explain(deletion)}. ${adviseOperator(cluster)}`;
  }
  return engine.state.deleting ? "The engine was told to delete it." : "The engine is told to delete it.";
}

import type { Fault, NewCondition } from "../../shared/controller/conditions.ts";
import { autoscalingRange, isAutoscaled } from "../../shared/crd/autoscaling.ts";
import { clipConditionMessage } from "../../shared/crd/conditions.ts";
import type { NodePoolConditionType } from "../../shared/crd/node-pool.ts";
import { nameAutoscaler } from "../autoscaler/children.ts";
import { findLostLabels, findRefusal } from "./hindrance.ts";
import type { ObservedPool } from "./observe.ts";
import type { PoolProgress } from "./progress.ts";

type Decided = NewCondition<NodePoolConditionType>;

/** All conditions of a pool, from what was observed and nothing else. */
export function decideConditions(
  observed: ObservedPool,
  progress: PoolProgress,
  fault: Fault | undefined,
): Decided[] {
  const refusal = findRefusal(observed, progress);
  const ready = decideReady(observed, progress, fault, refusal);
  const scaling = decideScaling(observed, progress, refusal);
  const upToDate = decideUpToDate(observed, progress);
  const moving =
    ready.status === "False"
      ? ready
      : scaling.status === "True"
        ? scaling
        : upToDate.status === "False"
          ? upToDate
          : undefined;
  const settled = { reason: "Settled", message: "The pool is as wanted." };
  // What the nodes lack for good is told once they are there.
  const stuck = fault ?? refusal ?? (moving === undefined ? findLostLabels(observed) : undefined);
  const { reason, message } = moving ?? stuck ?? settled;
  return [
    ready,
    scaling,
    upToDate,
    decideAutoscaling(observed),
    stuck === undefined && moving !== undefined
      ? { type: "Reconciling", status: "True", reason, message }
      : { type: "Reconciling", status: "False", reason, message },
    stuck !== undefined
      ? {
          type: "Stalled",
          status: "True",
          reason: stuck.reason,
          message: clipConditionMessage(stuck.message),
        }
      : { type: "Stalled", status: "False", reason, message: "Nothing stands in the way." },
  ];
}

function decideReady(
  observed: ObservedPool,
  progress: PoolProgress,
  fault: Fault | undefined,
  refusal: Fault | undefined,
): Decided {
  const no = (reason: string, message: string): Decided => ({
    type: "Ready",
    status: "False",
    reason,
    message: clipConditionMessage(message),
  });
  const { pool, cluster } = observed;
  if (pool.metadata.deletionTimestamp !== undefined) {
    return no("Deleting", describeDeletion(observed));
  }
  // What already runs goes on when it is not allowed to grow.
  const goesOn = fault === observed.heldBack && observed.engine !== undefined;
  if (fault !== undefined && !goesOn) return no(fault.reason, fault.message);
  if (cluster === undefined) {
    return no(
      "WaitingForCluster",
      `There is no cluster ${pool.spec.clusterName} in this namespace yet; create it.`,
    );
  }
  if (progress.sick.length > 0) {
    const names = progress.sick.map((machine) => machine.node ?? machine.name).join(", ");
    const next =
      "The engine replaces them where its health checks say so; replace them by hand if they stay.";
    return no("NodesUnhealthy", `Nodes that are not healthy: ${names}. ${next}`);
  }
  const { nodes, readyNodes, wanted } = progress;
  if (pool.status?.firstReadyAt !== undefined || progress.state === "settled") {
    return { type: "Ready", status: "True", reason: "Available", message: "The pool serves." };
  }
  if (refusal !== undefined) return no(refusal.reason, refusal.message);
  if (cluster.deleting)
    return no("WaitingForCluster", `The cluster ${pool.spec.clusterName} is being deleted.`);
  if (progress.state === "absent" && cluster.fault !== undefined) {
    const message = `The cluster ${pool.spec.clusterName} cannot go on: ${cluster.fault.message}`;
    return no("WaitingForCluster", message);
  }
  if (progress.state === "absent" && !cluster.controlPlaneInitialized) {
    return no(
      "WaitingForControlPlane",
      "The control plane of the cluster is not up yet; nodes join by themselves after it. If this lasts, look at what the cluster waits for.",
    );
  }
  if (progress.state === "absent" && cluster.upgrading) {
    return no("UpgradeInProgress", "The cluster is being upgraded; new pools come after its control plane.");
  }
  const counts = `${readyNodes} of ${wanted} nodes are ready, ${nodes} exist.`;
  return no("WaitingForNodes", `${counts}${describeLate(observed, progress)}`);
}

function decideScaling(observed: ObservedPool, progress: PoolProgress, refusal: Fault | undefined): Decided {
  const { wanted, nodes, readyNodes } = progress;
  if (progress.state !== "scaling") {
    return {
      type: "Scaling",
      status: "False",
      reason: "Settled",
      message: "The number of nodes is not changing.",
    };
  }
  if (refusal !== undefined) {
    const message = clipConditionMessage(refusal.message);
    return { type: "Scaling", status: "True", reason: refusal.reason, message };
  }
  const waits = observed.cluster?.upgrading === true && observed.engine?.desired !== wanted;
  return waits
    ? {
        type: "Scaling",
        status: "True",
        reason: "UpgradeInProgress",
        message: `The change to ${wanted} nodes waits for the upgrade of the cluster to reach this pool.`,
      }
    : {
        type: "Scaling",
        status: "True",
        reason: "Scaling",
        message: clipConditionMessage(
          `Scaling to ${wanted} nodes: ${nodes} exist, ${readyNodes} are ready.${describeLate(observed, progress)}`,
        ),
      };
}

function decideUpToDate(observed: ObservedPool, progress: PoolProgress): Decided {
  const target = observed.cluster?.version;
  const behind = progress.version !== undefined && target !== undefined && progress.version !== target;
  const { upToDateNodes, wanted } = progress;
  if (progress.state === "rollingOut") {
    const message = `Nodes are being replaced one after another: ${upToDateNodes} of ${wanted} are up to date.`;
    return { type: "UpToDate", status: "False", reason: "RollingOut", message };
  }
  if (behind) {
    const message = `Nodes run ${progress.version}; they follow the cluster to ${target}.`;
    return { type: "UpToDate", status: "False", reason: "UpgradeInProgress", message };
  }
  if (progress.state === "absent") {
    return {
      type: "UpToDate",
      status: "Unknown",
      reason: "WaitingForNodes",
      message: "There are no nodes yet.",
    };
  }
  return { type: "UpToDate", status: "True", reason: "UpToDate", message: "All nodes are as wanted." };
}

/** What is left, and of the first machine that goes what holds it and the next step. */
function describeDeletion({ pool, machines }: ObservedPool): string {
  const [held] = machines.filter(({ deletion }) => deletion !== undefined);
  if (machines.length === 0) return "The pool is going away.";
  const left = `The pool is going away; machines left: ${machines.length}.`;
  if (held === undefined) return left;
  const object = `Machine ${pool.metadata.namespace}/${held.name}`;
  return `${left} ${object} is being deleted: ${held.deletion}. If this lasts, ask the platform's operator to look at it.`;
}

/** The machine that has been on its way for longest, what it waits for, and the next step. */
function describeLate({ pool }: ObservedPool, { joining }: PoolProgress): string {
  const [late] = joining;
  const { namespace, name } = pool.metadata;
  if (late === undefined)
    return ` If this lasts, ask the platform's operator to look at the NodePool ${namespace}/${name}.`;
  const object = `Machine ${namespace}/${late.name}`;
  return ` ${object} has not joined: ${late.waitsFor}. If this lasts, ask the platform's operator to look at it.`;
}

function decideAutoscaling({ pool, autoscaler }: ObservedPool): Decided {
  const type = "Autoscaling";
  if (!isAutoscaled(pool.spec)) {
    const message = "The pool has the number of nodes that its owner gave.";
    return { type, status: "False", reason: "FixedSize", message };
  }
  if (!autoscaler.configured) {
    const message =
      "The platform runs no cluster autoscaler; ask its operator for one. The number of nodes stays as it is.";
    return { type, status: "False", reason: "NotConfigured", message };
  }
  const available = autoscaler.deployment?.available;
  if (available?.status === "True") {
    const { minNodes, maxNodes } = autoscalingRange(pool.spec);
    const message = `The autoscaler keeps the pool between ${minNodes} and ${maxNodes} nodes.`;
    return { type, status: "True", reason: "Enabled", message };
  }
  if (available?.status === "False") {
    const message = `The cluster autoscaler does not run: ${available.message ?? "no reason given"}. If this lasts, ask the platform's operator to look at the Deployment ${nameAutoscaler(`${pool.metadata.namespace}/${pool.spec.clusterName}`)}.`;
    return { type, status: "False", reason: "AutoscalerUnavailable", message: clipConditionMessage(message) };
  }
  const message = "The cluster autoscaler is being started.";
  return { type, status: "Unknown", reason: "WaitingForAutoscaler", message };
}

import type { Step } from "../../shared/controller/plan.ts";
import { elapsedMs } from "../../shared/program/time.ts";
import { machineDeploymentKind } from "../capi/kinds.ts";
import type { ObservedPool } from "./observe.ts";
import { describeJoiningMachine, findPause, type PoolProgress } from "./progress.ts";

/** What is left of a pool, and of a machine being deleted what blocks it, with the next step. */
export function describeDeletion(observed: ObservedPool): string {
  const { machines } = observed;
  const pause = findPause(observed);
  if (pause !== undefined) return `Deletion waits${pause.clause}`;
  if (machines.length === 0) return "The pool is being deleted.";
  const left = `The pool is being deleted; machines left: ${machines.length}.`;
  return `${left}${describeMachine(observed)}`;
}

const ASK = "If this lasts, ask the platform's operator to look at it.";

/** What a message says of a leaving node at each stage, before the cause; first the stages that tenants can do something about. */
const STAGES = {
  drain: "is being drained",
  volumes: "is drained and waits for its volumes",
  other: "is being deleted",
  infrastructure: "is drained, and the infrastructure deletes its machine",
} as const;

/** Why a change waits, by the reason that says what is done, and by the stage of the machine that it waits for. */
const WAITS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Deleting: { drain: "DrainingNode", volumes: "WaitingForVolumeDetach", other: "MachineNotReleased" },
  Scaling: { late: "NodeStartupTimeout" },
  WaitingForNodes: { late: "NodeStartupTimeout" },
};

/** The reason of `Reconciling`, by which the next reconcile knows what was told already. */
export function findWaitReason(reason: string, stage: MachineStage): string {
  return WAITS[reason]?.[stage ?? ""] ?? reason;
}

export type MachineStage = ReturnType<typeof findStage>;

/** The stage of the machine that a message names: of a leaving one if there is any, else of a joining one; undefined = there is neither. */
export function findStage({ machines }: ObservedPool, { isLate, joining }: PoolProgress) {
  return findLeavingMachine(machines)?.deletion?.stage ?? (isLate ? "late" : joining[0] && "joining");
}

function findLeavingMachine(machines: ObservedPool["machines"]) {
  const leaving = Object.keys(STAGES).map((stage) =>
    machines.find(({ deletion }) => deletion?.stage === stage),
  );
  return leaving.find((machine) => machine !== undefined);
}

/**
 * A machine that is being deleted, by its node: what that waits for, and the next step, with a blank in front. When none is,
 * or nothing is reported of it, one that joins, or nothing without `progress`. Drain and volumes are waited for in turn, each for its own time.
 */
export function describeMachine(observed: ObservedPool, progress?: PoolProgress): string {
  const { pool, machines, poolDefaults } = observed;
  const leaving = findLeavingMachine(machines);
  if (leaving?.deletion === undefined) return progress === undefined ? "" : describeJoiningMachine(progress);
  const { stage, cause } = leaving.deletion;
  const what = ` Node ${leaving.node ?? leaving.name} ${STAGES[stage]}: ${cause}.`;
  switch (stage) {
    case "drain": {
      const seconds = pool.spec.drainTimeoutSeconds ?? poolDefaults.drainTimeoutSeconds;
      return `${what} Let these Pods be evicted, as by another disruption budget, or delete them; after ${seconds} s its machine is deleted all the same.`;
    }
    case "volumes":
      return `${what} Delete what uses them; after ${poolDefaults.volumeDetachTimeoutSeconds} s its machine is deleted all the same.`;
    case "infrastructure":
    case "other":
      return `${what} ${ASK}`;
  }
}

/** What to do about a MachineDeployment that still exists after its Cluster API cluster was deleted. */
export interface MachineDeploymentPlan {
  remove: Step[];
  requeueAfterMs: number | undefined;
  /** It is still there 30 s after its deletion began; by then ../orphans/decide.ts has removed Cluster API's finalizers. */
  isStuck: boolean;
}

export const NOTHING_TO_DO: MachineDeploymentPlan = { remove: [], requeueAfterMs: undefined, isStuck: false };
/** Longer than a deletion without a cluster takes. */
const DELETED_WITHIN_MS = 30_000;

/**
 * Without its cluster no controller of Cluster API reconciles a MachineDeployment. Seen after restarts of kube-apiserver:
 * 25 that no controller had registered yet remained when their clusters were deleted, and the pools with them.
 */
export function findRemainingMachineDeployment(
  { machineDeployment, lacksCapiCluster, machines, pool }: ObservedPool,
  now: Date,
): MachineDeploymentPlan {
  if (!lacksCapiCluster || machineDeployment === undefined || machines.length > 0) return NOTHING_TO_DO;
  const { name, uid, deletedAt } = machineDeployment;
  if (deletedAt === undefined) {
    const { namespace = "" } = pool.metadata;
    return {
      ...NOTHING_TO_DO,
      remove: [{ verb: "delete", kind: machineDeploymentKind, namespace, name, uid }],
    };
  }
  const waitMs = DELETED_WITHIN_MS - elapsedMs(deletedAt, now);
  return waitMs > 0 ? { ...NOTHING_TO_DO, requeueAfterMs: waitMs } : { ...NOTHING_TO_DO, isStuck: true };
}

/** For the operator of the platform: it runs nothing, so tenants have nothing to know or to do. */
export function describeRemainingMachineDeployment({ pool, machineDeployment }: ObservedPool): string {
  const name = `${pool.metadata.namespace}/${machineDeployment?.name}`;
  const finalizers = machineDeployment?.finalizers.join(", ");
  return `Cluster API left the MachineDeployment ${name} behind, which runs nothing and is not reconciled any more: remove its finalizers ${finalizers}`;
}

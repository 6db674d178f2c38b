import type { Step } from "../../shared/controller/plan.ts";
import { elapsedMs } from "../../shared/controller/time.ts";
import { machineDeploymentKind } from "../capi/kinds.ts";
import type { ObservedPool } from "./observe.ts";

/** What to do about a MachineDeployment that still exists after its Cluster API cluster was deleted. */
export interface Leftover {
  remove: Step[];
  requeueAfterMs: number | undefined;
  /** Finalizers keep it that are not Cluster API's: those the operator removes itself (../orphans/decide.ts). */
  isStuck: boolean;
}

export const NO_LEFTOVER: Leftover = { remove: [], requeueAfterMs: undefined, isStuck: false };
/** Longer than a deletion without a cluster takes. */
const DELETED_WITHIN_MS = 30_000;

/**
 * Without its cluster no controller of Cluster API reconciles a MachineDeployment. Seen after restarts of the API server:
 * 25 that no controller had registered yet remained when their clusters were deleted, and the pools with them.
 */
export function findLeftover(
  { capi, capiClusterDeleted, machines, pool }: ObservedPool,
  now: Date,
): Leftover {
  if (!capiClusterDeleted || capi === undefined || machines.length > 0) return NO_LEFTOVER;
  const { name, uid, deletedAt } = capi;
  if (deletedAt === undefined) {
    const { namespace = "" } = pool.metadata;
    return {
      ...NO_LEFTOVER,
      remove: [{ verb: "delete", kind: machineDeploymentKind, namespace, name, uid }],
    };
  }
  const waitMs = DELETED_WITHIN_MS - elapsedMs(deletedAt, now);
  return waitMs > 0 ? { ...NO_LEFTOVER, requeueAfterMs: waitMs } : { ...NO_LEFTOVER, isStuck: true };
}

/** For the operator of the platform: it runs nothing, so tenants have nothing to know or to do. */
export function describeLeftover({ pool, capi }: ObservedPool): string {
  const name = `${pool.metadata.namespace}/${capi?.name}`;
  const finalizers = capi?.finalizers.join(", ");
  return `Cluster API left the MachineDeployment ${name} behind, which runs nothing and is not reconciled any more: remove its finalizers ${finalizers}`;
}

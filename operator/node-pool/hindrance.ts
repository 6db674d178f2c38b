import type { Fault } from "../../shared/controller/conditions.ts";
import type { ObservedPool } from "./observe.ts";
import type { PoolProgress } from "./progress.ts";

/** Faults of a cluster that keep changes of its pools from the engine too: all of it is given to the engine at once. */
const REFUSALS = new Set(["RefusedByEngine", "QuotaExceeded", "UnsupportedByClass"]);
/** Cluster API carries these to Nodes in any case. */
const ALWAYS_SYNCED = /^node-role\.kubernetes\.io\//;

/** The refusal of the cluster, when it keeps this pool from what its owner wants; undefined = it does not. */
export function findRefusal(
  { pool, cluster, engine }: ObservedPool,
  progress: PoolProgress,
): Fault | undefined {
  const fault = cluster?.fault;
  if (fault === undefined || !REFUSALS.has(fault.reason) || cluster?.deleting) return undefined;
  const isOpen = progress.state === "absent" || engine?.desired !== progress.wanted;
  if (!isOpen) return undefined;
  const message = `The node pool ${pool.metadata.name} cannot become as wanted: ${fault.message}`;
  return { reason: fault.reason, message };
}

/**
 * Labels that the engine keeps to itself. Source: "metadata propagation" in Cluster API's book; what its core manager is
 * given as --additional-sync-machine-labels is the setting's to know.
 */
export function findLostLabels({ pool, syncedNodeLabels }: ObservedPool): Fault | undefined {
  const keys = Object.keys(pool.spec.nodeLabels ?? {});
  const lost = keys.filter((key) => !ALWAYS_SYNCED.test(key) && !syncedNodeLabels.test(key));
  if (lost.length === 0) return undefined;
  const message = `The platform does not carry these labels of the node pool ${pool.metadata.name} to its nodes: ${lost.join(", ")}. Leave them out, or ask the platform's operator to have them synchronized.`;
  return { reason: "LabelsNotPropagated", message };
}

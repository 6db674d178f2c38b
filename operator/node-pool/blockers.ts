import type { Problem } from "../../shared/controller/conditions.ts";
import { INFRASTRUCTURE_LOST, TAINTS_UNAVAILABLE } from "../../shared/crd/conditions.ts";
import { isAlwaysPropagated } from "../../shared/crd/node-labels.ts";
import { displayNameOf } from "../identity/identity.ts";
import type { ObservedPool } from "./observe.ts";
import type { PoolProgress } from "./progress.ts";

/** Faults of a cluster that also block changes of its pools: Cluster API gets all of it in one object. */
const REJECTIONS = new Set([
  "RejectedByClusterAPI",
  "QuotaExceeded",
  "UnsupportedByClass",
  TAINTS_UNAVAILABLE,
]);

/** The fault of the cluster that keeps this pool from its desired state; undefined = none does. */
export function findRejection(
  { pool, cluster, capi }: ObservedPool,
  progress: PoolProgress,
): Problem | undefined {
  const fault = cluster?.fault;
  if (fault === undefined || !REJECTIONS.has(fault.reason) || cluster?.deleting) return undefined;
  if (fault.reason === TAINTS_UNAVAILABLE && (pool.spec.nodeTaints ?? []).length === 0) return undefined;
  const isOpen =
    progress.state === "absent" || progress.state === "updating" || capi?.replicas !== progress.desiredNodes;
  if (!isOpen) return undefined;
  const message = `The node pool ${displayNameOf(pool)} cannot be changed: ${fault.message}`;
  return { reason: fault.reason, message };
}

/** The loss of the cluster, with which the pool is lost; undefined = it is there. */
export function findLostCluster({ cluster }: ObservedPool): Problem | undefined {
  const fault = cluster?.fault;
  if (cluster === undefined || fault?.reason !== INFRASTRUCTURE_LOST) return undefined;
  return {
    reason: INFRASTRUCTURE_LOST,
    message: `The cluster ${cluster.name} is lost: ${fault.message}`,
  };
}

/** Labels of the pool that Cluster API is not configured to propagate to its nodes. */
export function findUnpropagatedLabels({ pool, syncedNodeLabels }: ObservedPool): Problem | undefined {
  const keys = Object.keys(pool.spec.nodeLabels ?? {});
  const blocked = keys.filter((key) => !isAlwaysPropagated(key) && !syncedNodeLabels.test(key));
  if (blocked.length === 0) return undefined;
  const message = `The platform does not propagate these labels of the node pool ${displayNameOf(pool)} to its nodes: ${blocked.join(", ")}. Leave them out, or ask the platform's operator to have them synchronized.`;
  return { reason: "LabelsNotPropagated", message };
}

import type { Change } from "../../shared/kube/reflector.ts";
import { readEngineCluster } from "../engine/cluster-state.ts";
import type { EngineCluster } from "../engine/kinds.ts";
import { isOwnerChanged } from "../ownership.ts";

/**
 * Whether the owner, the endpoint or the availability of a tenant's API server changed. Every reconcile of an access or of the bindings
 * connects to it: no other change is worth that.
 */
export function isTenantChanged(change: Change<EngineCluster>): boolean {
  const { previous, object } = change;
  return isOwnerChanged(change) || previous === undefined || summarize(previous) !== summarize(object);
}

function summarize(cluster: EngineCluster): string {
  const { endpoint, controlPlaneInitialized, controlPlaneSignal } = readEngineCluster(cluster);
  return `${endpoint?.url} ${controlPlaneInitialized} ${controlPlaneSignal}`;
}

import { remainingMs } from "../../shared/controller/time.ts";
import type { ObservedCluster, ObservedClusterPool } from "./observe.ts";

/** A busy Cluster API needed 0.6 s; a longer wait has another cause. */
const REGISTERED_WITHIN_MS = 30_000;

/**
 * For how many ms the deletion of a cluster has to wait because Cluster API is still registering a pool: a MachineSet that
 * is deleted in that moment keeps its finalizers and blocks the cluster forever (see `CapiPoolState.registered`).
 * Undefined = delete it now.
 */
export function findClusterRegistrationWait(
  { cluster, capi, pools }: ObservedCluster,
  now: Date,
): number | undefined {
  if (capi === undefined || capi.state.deleting) return undefined;
  const isRegistered = capi.state.observed && pools.every((pool) => pool.capi?.registered ?? true);
  if (isRegistered) return undefined;
  return remainingMs(cluster.metadata.deletionTimestamp, REGISTERED_WITHIN_MS, now);
}

/** For how many ms a deleted pool stays in the topology because Cluster API is still registering it. Undefined = remove it now. */
export function findPoolRegistrationWait(
  { capi }: Pick<ObservedCluster, "capi">,
  pool: ObservedClusterPool,
  now: Date,
): number | undefined {
  const { name, deletionTimestamp } = pool.pool.metadata;
  if (capi?.state.poolNames.includes(name) !== true) return undefined;
  const isRegistered = pool.capi === undefined ? capi.state.observed : pool.capi.registered;
  return isRegistered ? undefined : remainingMs(deletionTimestamp, REGISTERED_WITHIN_MS, now);
}

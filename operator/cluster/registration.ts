import { remainingMs } from "../../shared/controller/time.ts";
import type { ObservedCluster, ObservedClusterPool } from "./observe.ts";

/** A busy Cluster API needed 0.6 s; a longer wait has another cause. */
const REGISTERED_WITHIN_MS = 30_000;

/**
 * For how many ms the deletion of a cluster has to wait because Cluster API is still registering a pool: a MachineSet that
 * is deleted in that moment keeps its finalizers and blocks the cluster forever (see `EnginePoolState.registered`).
 * Undefined = delete it now.
 */
export function findClusterRegistrationWait(
  { cluster, engine, pools }: ObservedCluster,
  now: Date,
): number | undefined {
  if (engine === undefined || engine.state.deleting) return undefined;
  const isRegistered = engine.state.observed && pools.every((pool) => pool.engine?.registered ?? true);
  if (isRegistered) return undefined;
  return remainingMs(cluster.metadata.deletionTimestamp, REGISTERED_WITHIN_MS, now);
}

/** The same for a pool that is being deleted; it stays in the topology meanwhile. */
export function findPoolRegistrationWait(
  { engine }: Pick<ObservedCluster, "engine">,
  pool: ObservedClusterPool,
  now: Date,
): number | undefined {
  const { name, deletionTimestamp } = pool.pool.metadata;
  if (engine?.state.poolNames.includes(name) !== true) return undefined;
  const isRegistered = pool.engine === undefined ? engine.state.observed : pool.engine.registered;
  return isRegistered ? undefined : remainingMs(deletionTimestamp, REGISTERED_WITHIN_MS, now);
}

import type { ObservedCluster, ObservedClusterPool } from "./observe.ts";
import { remainingMs } from "./remaining.ts";

/** A busy engine needed 0.6 s; one that needs longer than this is held up by something else. */
const TAKEN_IN_WITHIN_MS = 30_000;

/**
 * For how long the engine is not to be told yet to delete the cluster, for it is still taking in a pool: what is deleted
 * in that moment leaves a MachineSet behind that nobody looks at and that holds the cluster for good (see
 * `EnginePoolState.takenIn`). Undefined = tell it now.
 */
export function findClusterIntakeWait(
  { cluster, engine, pools }: ObservedCluster,
  now: Date,
): number | undefined {
  if (engine === undefined || engine.state.deleting) return undefined;
  const isTakenIn = engine.state.observed && pools.every((pool) => pool.engine?.takenIn ?? true);
  return isTakenIn ? undefined : remainingMs(cluster.metadata.deletionTimestamp, TAKEN_IN_WITHIN_MS, now);
}

/** The same for a pool that is being deleted; it stays in the topology meanwhile. */
export function findPoolIntakeWait(
  { engine }: Pick<ObservedCluster, "engine">,
  pool: ObservedClusterPool,
  now: Date,
): number | undefined {
  const { name, deletionTimestamp } = pool.pool.metadata;
  if (engine?.state.poolNames.includes(name) !== true) return undefined;
  const isTakenIn = pool.engine === undefined ? engine.state.observed : pool.engine.takenIn;
  return isTakenIn ? undefined : remainingMs(deletionTimestamp, TAKEN_IN_WITHIN_MS, now);
}

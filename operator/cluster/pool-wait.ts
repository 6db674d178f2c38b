import { ANNOTATION_REQUEST_ID } from "../../shared/crd/names.ts";
import type { ObservedCluster } from "./observe.ts";
import { remainingMs } from "./remaining.ts";

/**
 * Who applies a cluster writes its pools a moment later. A pool that the engine learns of when it has begun with the
 * control plane is put off until that is up: 14 s of 60 were lost.
 */
const NEW_POOLS_COME_WITHIN_MS = 2_000;
/** A backup is restored kind by kind; without this a cluster that comes first would have its workers taken away. */
const RESTORED_POOLS_COME_WITHIN_MS = 600_000;

/**
 * For how long the engine is not to be told of this cluster yet, for its pools may be still on their way: of a new one,
 * unless the API made it, which writes pools first; of a restored one, while the engine has pools that are not among
 * those `wanted` now (no NodePool stands for them, or our finalizer does not hold it yet). Undefined = tell it now.
 */
export function findPoolWait(
  { cluster, engine }: ObservedCluster,
  wanted: ReadonlySet<string>,
  now: Date,
): number | undefined {
  const { annotations, creationTimestamp, uid } = cluster.metadata;
  if (engine === undefined) {
    const isWhole = wanted.size > 0 && annotations?.[ANNOTATION_REQUEST_ID] !== undefined;
    return isWhole ? undefined : remainingMs(creationTimestamp, NEW_POOLS_COME_WITHIN_MS, now);
  }
  const isTakenOver = engine.object.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
  const isWhole = engine.state.poolNames.every((name) => wanted.has(name));
  return isTakenOver || isWhole
    ? undefined
    : remainingMs(creationTimestamp, RESTORED_POOLS_COME_WITHIN_MS, now);
}

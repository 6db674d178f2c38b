import { remainingMs } from "../../shared/controller/time.ts";
import { ANNOTATION_REQUEST_ID } from "../../shared/crd/names.ts";
import type { ObservedCluster } from "./observe.ts";

/**
 * Whoever applies a cluster applies its pools a moment later. Cluster API delays a pool that it learns of after it has
 * begun with the control plane until that is up, which cost 14 s of 60.
 */
const NEW_POOLS_COME_WITHIN_MS = 2_000;
/** A backup is restored kind by kind; without this wait a cluster that comes first would lose its workers. */
const RESTORED_POOLS_COME_WITHIN_MS = 600_000;

/**
 * For how many ms the cluster is not applied yet because pools of it may still be created: for a new cluster, unless the
 * REST API created it, which writes pools first; for a restored one, while Cluster API has pools that are not among the
 * `desired` ones (they have no NodePool, or no finalizer yet). Undefined = apply it now.
 */
export function findPoolWait(
  { cluster, engine }: ObservedCluster,
  desired: ReadonlySet<string>,
  now: Date,
): number | undefined {
  const { annotations, creationTimestamp, uid } = cluster.metadata;
  if (engine === undefined) {
    const isComplete = desired.size > 0 && annotations?.[ANNOTATION_REQUEST_ID] !== undefined;
    return isComplete ? undefined : remainingMs(creationTimestamp, NEW_POOLS_COME_WITHIN_MS, now);
  }
  const isOwned = engine.object.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
  const isComplete = engine.state.poolNames.every((name) => desired.has(name));
  return isOwned || isComplete
    ? undefined
    : remainingMs(creationTimestamp, RESTORED_POOLS_COME_WITHIN_MS, now);
}

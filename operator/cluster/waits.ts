import type { Problem } from "../../shared/controller/conditions.ts";
import type { Step } from "../../shared/controller/plan.ts";
import { ANNOTATION_DELETE_MISSING_POOLS, ANNOTATION_REQUEST_ID } from "../../shared/crd/names.ts";
import { ADVICE_BY_REASON } from "../../shared/crd/rest-words.ts";
import { remainingMs } from "../../shared/program/time.ts";
import { count, listNames } from "../../shared/program/wording.ts";
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";
import { FINALIZERS_WITHIN_MS } from "../capi/pool-state.ts";
import { isDeleting, mayBeMade } from "../identity/identity.ts";
import { composeOwnerReference } from "../identity/ownership.ts";
import type { ObservedCluster, ObservedClusterPool } from "./observe.ts";

/**
 * A user who applies a cluster applies its pools a moment later. Cluster API makes a pool that comes after it has begun with the
 * control plane only once that is up: 14 s of 60 in a measurement.
 */
const NEW_POOLS_COME_WITHIN_MS = 2_000;
/** Before the first one is known, and while one may not be made yet: a Kubernetes API that is busy with many clusters takes longer. */
const FIRST_POOL_COMES_WITHIN_MS = 5_000;

/**
 * For how many ms a new cluster is not applied yet because pools of it may still be created, unless the REST API created
 * it and one of its pools may be made, for REST writes pools first. Undefined = apply it now.
 */
export function findPoolWait(
  { cluster, pools }: ObservedCluster,
  desired: ReadonlySet<string>,
  now: Date,
): number | undefined {
  const { annotations, creationTimestamp } = cluster.metadata;
  if (desired.size > 0 && annotations?.[ANNOTATION_REQUEST_ID] !== undefined) return undefined;
  const mayAllBeMade = desired.size > 0 && pools.every(mayBeMade);
  const comeWithinMs = mayAllBeMade ? NEW_POOLS_COME_WITHIN_MS : FIRST_POOL_COMES_WITHIN_MS;
  return remainingMs(creationTimestamp, comeWithinMs, now);
}

/** Whether this would make the cluster in Cluster API on infrastructure that it shares with its namesakes. */
export function needsUniqueName({ capi, classes }: ObservedCluster, desired: CapiCluster): boolean {
  const { namespace, name } = desired.spec?.topology?.classRef ?? {};
  return capi === undefined && classes.get(`${namespace}/${name}`)?.hasNamesPerNamespace !== true;
}

/**
 * The pools that Cluster API runs for a cluster restored from a backup, and that have no NodePool or one that may not be made
 * yet (`mayBeMade`). Applying the cluster would delete them with their nodes: it waits, however long, until they are restored
 * or the annotation says that they are to be deleted. Empty = nothing is in the way.
 */
export function findMissingPools(observed: ObservedCluster): string[] {
  const { cluster, capi, pools } = observed;
  if (capi === undefined || isAppliedOwner(observed) || isDeletionRequested(observed)) return [];
  const makeable = new Set(pools.filter(mayBeMade).map(({ pool }) => pool.metadata.name));
  return cluster.metadata.deletionTimestamp === undefined
    ? capi.state.poolNames.filter((name) => !makeable.has(name))
    : [];
}

/** Explains what a restored cluster waits for. */
export function composeMissingPools(names: readonly string[]): Problem {
  const pools = count(names.length, "node pool");
  const message = `Cluster API runs ${pools} missing here: ${listNames(names)}.`;
  return { reason: "NodePoolsMissing", message: `${message} ${ADVICE_BY_REASON.NodePoolsMissing.kubectl}` };
}

/** Annotations of a request that is carried out: the same annotation in a later backup must not count again. */
export function findHandledPoolDeletion(observed: ObservedCluster): string[] {
  const isHandled = observed.capi !== undefined && isAppliedOwner(observed) && isDeletionRequested(observed);
  return isHandled ? [ANNOTATION_DELETE_MISSING_POOLS] : [];
}

/**
 * Makes the restored Cluster the owner at once: the owner of before does not exist, and the garbage collector would delete
 * the Cluster API cluster. The reference gets `controller` only with the first apply, by which `isAppliedOwner` knows it.
 */
export function planAdoption(observed: ObservedCluster): Step[] {
  const { cluster, capi } = observed;
  if (capi === undefined || findOwner(observed) !== undefined) return [];
  const { namespace = "", name, uid } = capi.object.metadata;
  const { controller: _, ...owner } = composeOwnerReference(cluster);
  return [
    {
      verb: "patch",
      kind: capiClusterKind,
      namespace,
      name,
      operations: [
        { op: "test", path: "/metadata/uid", value: uid },
        { op: "add", path: "/metadata/ownerReferences", value: [owner] },
      ],
    },
  ];
}

/** Whether the operator has applied the cluster with this very object as its owner. */
export function isAppliedOwner(observed: ObservedCluster): boolean {
  return findOwner(observed)?.controller === true;
}

function findOwner({ cluster, capi }: ObservedCluster) {
  return capi?.object.metadata.ownerReferences?.find(({ uid }) => uid === cluster.metadata.uid);
}

function isDeletionRequested({ cluster }: ObservedCluster): boolean {
  return cluster.metadata.annotations?.[ANNOTATION_DELETE_MISSING_POOLS] === "true";
}

/**
 * For how many ms the deletion of a cluster has to wait because Cluster API has not set its finalizers of a pool yet: a MachineSet that
 * is deleted in that moment keeps its finalizers, so that Cluster API never deletes the cluster (see `MachineDeploymentState.hasBothFinalizers`).
 * Undefined = delete it now.
 */
export function findClusterDeletionWait(
  { cluster, capi, pools }: ObservedCluster,
  now: Date,
): number | undefined {
  if (capi === undefined || capi.state.deleting) return undefined;
  const hasBoth =
    capi.state.isGenerationObserved && pools.every((it) => it.machineDeployment?.hasBothFinalizers ?? true);
  if (hasBoth) return undefined;
  return remainingMs(cluster.metadata.deletionTimestamp, FINALIZERS_WITHIN_MS, now);
}

/** For how many ms a deleted pool stays in the topology because Cluster API has not set its finalizers yet. Undefined = remove it now. */
export function findPoolRemovalWait(
  { capi }: Pick<ObservedCluster, "capi">,
  { pool, machineDeployment }: ObservedClusterPool,
  now: Date,
): number | undefined {
  const { name, deletionTimestamp } = pool.metadata;
  if (capi?.state.poolNames.includes(name) !== true) return undefined;
  const hasBoth =
    machineDeployment === undefined ? capi.state.isGenerationObserved : machineDeployment.hasBothFinalizers;
  return hasBoth ? undefined : remainingMs(deletionTimestamp, FINALIZERS_WITHIN_MS, now);
}

/** The pools that an apply decided from this state may put into the topology: all but deleted ones that have left it. */
export function listPoolsToSend({ pools, capi }: ObservedCluster): string[] {
  const names = new Set(capi?.state.poolNames);
  return pools.flatMap(({ pool }) => {
    const { name } = pool.metadata;
    return isDeleting(pool) && !names.has(name) ? [] : [name];
  });
}

import { inArray } from "drizzle-orm";
import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import { type NodePool, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import type { Kind, KubeObject } from "../../../shared/kube/kind.ts";
import { toKey } from "../../../shared/kube/object.ts";
import type { Store } from "../../../shared/kube/store.ts";
import { Counter, type Registry } from "../../../shared/program/metrics.ts";
import type { Deps } from "../../deps.ts";
import { auditVersions, type UnauditedVersions } from "./audit-versions.ts";
import type { Observation } from "./batches.ts";
import { type Caches, isNodePool, projectCluster, projectNodePool } from "./caches.ts";
import { confirmIdentities, needsConfirmation } from "./identity-confirmation.ts";
import { clusterIdOf, type ProjectedObject, toProjectedCluster, toProjectedNodePool } from "./project.ts";
import { findByUid, listObjectNames, type ObjectName } from "./stored-objects.ts";
import { projectedClusters, projectedNodePools } from "./table.ts";
import { projectObservations } from "./upsert.ts";

/** Work of the projector: an object by its key, a deleted object, or the search for objects that were deleted while unwatched. */
export type Work =
  | { kind: "Cluster" | "NodePool"; key: string }
  | { kind: "findMissing" }
  | { deleted: Cluster | NodePool };

/** The key under which work is queued once. */
export function keyOf(work: Work): string {
  if ("deleted" in work) return `deleted ${work.deleted.metadata.uid}`;
  return "key" in work ? `${work.kind} ${work.key}` : work.kind;
}

/**
 * Objects in one transaction: each takes a lock, of which Postgres has a few thousand, and a part of each statement.
 */
const TRANSACTION_SIZE = 100;

interface StoredState {
  resourceVersion: bigint;
  clusterId: string | null;
  deleted: boolean;
}

/**
 * Projects the cached state of some objects. An object that is stored in this version needs no transaction. One that is
 * stored in a newer version is read live first: either the cache lags behind a recent write, or etcd was restored and
 * the older version is right. Throws when all else is written and the cluster of a pool has no record yet.
 */
export async function projectBatch(
  deps: Deps,
  caches: Caches,
  batch: readonly Work[],
  unaudited: UnauditedVersions,
): Promise<void> {
  const found = batch.flatMap((work) => toCachedObject(caches, work) ?? []);
  const uids = found.map(({ object }) => object.metadata.uid ?? "");
  // The projector stores no change before it is in the audit log; those of a new object wait for the row of its creation.
  await auditVersions(deps, unaudited, uids, { isProjected: false });
  await projectFound(deps, caches, { batch, found, unaudited });
  await auditVersions(deps, unaudited, uids, { isProjected: true });
  // Nothing will be compared any more with an object that was never projected.
  for (const { object, deleted } of found) {
    const { uid = "" } = object.metadata;
    if (deleted) unaudited.remove(uid, unaudited.of(uid));
  }
}

async function projectFound(
  deps: Deps,
  caches: Caches,
  {
    batch,
    found,
    unaudited,
  }: { batch: readonly Work[]; found: readonly CachedObject[]; unaudited: UnauditedVersions },
): Promise<void> {
  const findsMissing = (work: Work) => "kind" in work && work.kind === "findMissing";
  const awaitsConfirmation = ({ object, deleted }: CachedObject) => !deleted && needsConfirmation(object);
  await confirmIdentities(
    deps,
    caches,
    found.filter(awaitsConfirmation).map(({ object }) => object),
  );
  const cached = found.filter((one) => !awaitsConfirmation(one));
  const stored = await findStoredStates(
    deps,
    cached.map(({ object }) => object.metadata.uid ?? ""),
  );
  const observations: Observation[] = batch.some(findsMissing) ? await findMissingObjects(deps, caches) : [];
  for (const { object, deleted } of cached) {
    const observation = await toObservation(
      deps,
      caches,
      object,
      deleted,
      stored.get(object.metadata.uid ?? ""),
    );
    if (observation === undefined) continue;
    observations.push({ ...observation, firstVersion: unaudited.of(observation.object.uid)[0] });
  }
  const waiting: string[] = [];
  for (let start = 0; start < observations.length; start += TRANSACTION_SIZE) {
    const part = observations.slice(start, start + TRANSACTION_SIZE);
    const { refused, unrecorded, missedTransitions } = await deps.db.transaction((tx) =>
      projectObservations(tx, part, deps.config),
    );
    missedTransitionsOf(deps.metrics).inc(missedTransitions);
    for (const id of refused)
      deps.log.warn({ id }, "object is not served: its id, or its cluster's, belongs to another object");
    waiting.push(...unrecorded);
  }
  if (waiting.length > 0)
    throw new Error(`the clusters of these node pools are not recorded yet: ${waiting.join(", ")}`);
}

/** `marina_apiserver_transitions_missed_total`, which the projector counts; one in each registry. */
function missedTransitionsOf(registry: Registry): Counter {
  const name = "marina_apiserver_transitions_missed_total";
  const help =
    "Transitions that nobody saw while the status of their object listed them: no webhook receives them";
  const registered = registry.getSingleMetric(name) as Counter | undefined;
  return registered ?? new Counter({ name, help, registers: [registry] });
}

interface CachedObject {
  object: Cluster | NodePool;
  deleted: boolean;
}

function toCachedObject(caches: Caches, work: Work): CachedObject | undefined {
  if ("deleted" in work) return { object: work.deleted, deleted: true };
  if (work.kind === "findMissing") return undefined;
  const object = (work.kind === "Cluster" ? caches.clusters : caches.nodePools).get(work.key);
  return object === undefined ? undefined : { object, deleted: false };
}

async function toObservation(
  deps: Deps,
  caches: Caches,
  object: Cluster | NodePool,
  deleted: boolean,
  stored: StoredState | undefined,
): Promise<Observation | undefined> {
  if (deleted) return toDeletion(deps, caches, object);
  const projected = project(caches, object);
  if (projected === undefined) return undefined;
  if (stored === undefined) return { object: projected };
  if (stored.deleted) return undefined;
  const hasOtherCluster = "clusterId" in projected && projected.clusterId !== stored.clusterId;
  if (projected.resourceVersion > stored.resourceVersion || hasOtherCluster) return { object: projected };
  if (projected.resourceVersion === stored.resourceVersion) return undefined;

  const live = await readLive(deps, object);
  if (live === undefined) return undefined;
  const current = project(caches, live);
  if (current === undefined || current.resourceVersion === stored.resourceVersion) return undefined;
  return { object: current, authoritative: true };
}

/**
 * The stored row determines where the object belonged; what it was at last is the newer of both. One that was never
 * stored gets a tombstone too.
 */
async function toDeletion(
  deps: Deps,
  caches: Caches,
  object: Cluster | NodePool,
): Promise<Observation | undefined> {
  const stored = await findByUid(deps.db, object.metadata.uid ?? "");
  const last = stored === undefined ? project(caches, object) : withLastState(stored, object);
  return last === undefined ? undefined : { object: last, deleted: true };
}

function withLastState(stored: ProjectedObject, object: Cluster | NodePool): ProjectedObject {
  const last = isNodePool(object)
    ? toProjectedNodePool(object, stored.orgId, clusterIdOf(stored))
    : toProjectedCluster(object, stored.orgId);
  if (last === undefined || last.resourceVersion <= stored.resourceVersion) return stored;
  return { ...stored, resourceVersion: last.resourceVersion, object: last.object } as ProjectedObject;
}

function project(caches: Caches, object: Cluster | NodePool): ProjectedObject | undefined {
  return isNodePool(object) ? projectNodePool(caches, object) : projectCluster(caches, object);
}

async function readLive({ kube }: Deps, object: Cluster | NodePool): Promise<Cluster | NodePool | undefined> {
  const { namespace, name } = object.metadata;
  return isNodePool(object)
    ? kube.get(nodePoolKind, namespace, name)
    : kube.get(clusterKind, namespace, name);
}

async function findStoredStates({ db }: Deps, uids: readonly string[]): Promise<Map<string, StoredState>> {
  if (uids.length === 0) return new Map();
  const clusters = await db
    .select({
      uid: projectedClusters.uid,
      resourceVersion: projectedClusters.resourceVersion,
      deletedAt: projectedClusters.deletedAt,
    })
    .from(projectedClusters)
    .where(inArray(projectedClusters.uid, [...uids]));
  const nodePools = await db
    .select({
      uid: projectedNodePools.uid,
      resourceVersion: projectedNodePools.resourceVersion,
      deletedAt: projectedNodePools.deletedAt,
      clusterId: projectedNodePools.clusterId,
    })
    .from(projectedNodePools)
    .where(inArray(projectedNodePools.uid, [...uids]));
  const rows = [...clusters.map((row) => ({ ...row, clusterId: null })), ...nodePools];
  return new Map(
    rows.map(({ uid, resourceVersion, clusterId, deletedAt }) => [
      uid,
      { resourceVersion, clusterId, deleted: deletedAt !== null },
    ]),
  );
}

/**
 * Objects that are still projected but missing in the Kubernetes API: deleted while no watch was open. Each is
 * confirmed by a live read, since it may have been created after the list in which it is missing.
 */
async function findMissingObjects(deps: Deps, caches: Caches): Promise<Observation[]> {
  const objects = await listObjectNames(deps.db);
  return [
    ...(await confirmMissing(deps, clusterKind, caches.clusters, objects.clusters)),
    ...(await confirmMissing(deps, nodePoolKind, caches.nodePools, objects.nodePools)),
  ];
}

async function confirmMissing<T extends KubeObject>(
  deps: Deps,
  kind: Kind<T>,
  cache: Store<T>,
  objects: readonly ObjectName[],
): Promise<Observation[]> {
  const observations: Observation[] = [];
  for (const { uid, namespace, name } of objects) {
    if (cache.get(toKey(namespace, name))?.metadata.uid === uid) continue;
    const live = await deps.kube.get(kind, namespace, name);
    if (live?.metadata.uid === uid) continue;
    const stored = await findByUid(deps.db, uid);
    if (stored !== undefined) observations.push({ object: stored, deleted: true });
  }
  return observations;
}

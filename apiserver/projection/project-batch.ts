import { inArray } from "drizzle-orm";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { Deps } from "../deps.ts";
import { type Caches, projectCluster, projectNodePool } from "./observations.ts";
import type { ProjectedObject } from "./project.ts";
import { findByUid } from "./read.ts";
import type { Observation } from "./rounds.ts";
import { projectedClusters, projectedNodePools } from "./table.ts";
import { projectObservations } from "./upsert.ts";
import { findVanished } from "./vanished.ts";

/** What the projector has to look at: an object by its place, one that is gone, or what may be gone unseen. */
export type Work =
  | { kind: "Cluster" | "NodePool"; key: string }
  | { kind: "vanished" }
  | { gone: Cluster | NodePool };

/** Under which work waits, so that it does so once. */
export function keyOfWork(work: Work): string {
  if ("gone" in work) return `gone ${work.gone.metadata.uid}`;
  return "key" in work ? `${work.kind} ${work.key}` : work.kind;
}

/** Objects in one transaction: each takes a lock, of which Postgres has some thousands, and a part of each statement. */
const TRANSACTION_SIZE = 100;

interface Known {
  resourceVersion: bigint;
  clusterId: string | null;
  deleted: boolean;
}

/**
 * Brings the projection up to the caches for some objects, each whole. An object that the database knows as
 * it is costs no transaction. One that it knows in a newer version is read live first: either the cache is behind a
 * write of this very moment, or the Kubernetes store was restored and the older version is the truth.
 */
export async function projectBatch(deps: Deps, caches: Caches, batch: readonly Work[]): Promise<void> {
  const isGeneral = (work: Work) => "kind" in work && work.kind === "vanished";
  const seen = batch.flatMap((work) => toSeen(caches, work) ?? []);
  const known = await findKnown(
    deps,
    seen.map(({ object }) => object.metadata.uid ?? ""),
  );
  const sights: Observation[] = batch.some(isGeneral) ? await findVanished(deps, caches) : [];
  for (const { object, gone } of seen) {
    const sight = await toSight(deps, caches, object, gone, known.get(object.metadata.uid ?? ""));
    if (sight !== undefined) sights.push(sight);
  }
  for (let start = 0; start < sights.length; start += TRANSACTION_SIZE) {
    const part = sights.slice(start, start + TRANSACTION_SIZE);
    const refused = await deps.db.transaction((tx) => projectObservations(tx, part));
    for (const id of refused) deps.log.warn({ id }, "an object is not served: its id belongs to another one");
  }
}

interface Seen {
  object: Cluster | NodePool;
  gone: boolean;
}

function toSeen(caches: Caches, work: Work): Seen | undefined {
  if ("gone" in work) return { object: work.gone, gone: true };
  if (work.kind === "vanished") return undefined;
  const object = (work.kind === "Cluster" ? caches.clusters : caches.nodePools).get(work.key);
  return object === undefined ? undefined : { object, gone: false };
}

async function toSight(
  deps: Deps,
  caches: Caches,
  object: Cluster | NodePool,
  gone: boolean,
  known: Known | undefined,
): Promise<Observation | undefined> {
  if (gone) return toGoneSight(deps, caches, object);
  const projected = project(caches, object);
  if (projected === undefined) return undefined;
  if (known === undefined) return { object: projected };
  if (known.deleted) return undefined;
  const isMoved = "clusterId" in projected && projected.clusterId !== known.clusterId;
  if (projected.resourceVersion > known.resourceVersion || isMoved) return { object: projected };
  if (projected.resourceVersion === known.resourceVersion) return undefined;

  const live = await readLive(deps, object);
  if (live === undefined) return undefined;
  const current = project(caches, live);
  if (current === undefined || current.resourceVersion === known.resourceVersion) return undefined;
  return { object: current, authoritative: true };
}

/** What is stored says best where the object belonged; one that was never stored leaves a tombstone all the same. */
async function toGoneSight(
  deps: Deps,
  caches: Caches,
  object: Cluster | NodePool,
): Promise<Observation | undefined> {
  const stored = await findByUid(deps.db, object.metadata.uid ?? "");
  const last = stored ?? project(caches, object);
  return last === undefined ? undefined : { object: last, gone: true };
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

async function findKnown({ db }: Deps, uids: readonly string[]): Promise<Map<string, Known>> {
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

function isNodePool(object: Cluster | NodePool): object is NodePool {
  return "clusterName" in object.spec;
}

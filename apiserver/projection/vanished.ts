import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { toKey } from "../../shared/kube/object.ts";
import type { Store } from "../../shared/kube/store.ts";
import type { Deps } from "../deps.ts";
import type { Caches } from "./observations.ts";
import { findByUid, listPlaces, type Place } from "./read.ts";
import type { Observation } from "./rounds.ts";

/**
 * Objects that the projection still serves and the Kubernetes API no longer has: deleted while nobody watched. Each
 * is confirmed by a live read, for it may have been created after the list that misses it.
 */
export async function findVanished(deps: Deps, caches: Caches): Promise<Observation[]> {
  const places = await listPlaces(deps.db);
  return [
    ...(await confirmGone(deps, clusterKind, caches.clusters, places.clusters)),
    ...(await confirmGone(deps, nodePoolKind, caches.nodePools, places.nodePools)),
  ];
}

async function confirmGone<T extends KubeObject>(
  deps: Deps,
  kind: Kind<T>,
  cache: Store<T>,
  places: readonly Place[],
): Promise<Observation[]> {
  const sights: Observation[] = [];
  for (const { uid, namespace, name } of places) {
    if (cache.get(toKey(namespace, name))?.metadata.uid === uid) continue;
    const live = await deps.kube.get(kind, namespace, name);
    if (live?.metadata.uid === uid) continue;
    const stored = await findByUid(deps.db, uid);
    if (stored !== undefined) sights.push({ object: stored, gone: true });
  }
  return sights;
}

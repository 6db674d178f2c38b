import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { toKey } from "../../shared/kube/object.ts";
import type { Store } from "../../shared/kube/store.ts";
import type { Deps } from "../deps.ts";
import type { Observation } from "./batches.ts";
import type { Caches } from "./caches.ts";
import { findByUid, listObjectNames, type ObjectName } from "./stored-objects.ts";

/**
 * Objects that are still projected but missing in the Kubernetes API: deleted while no watch was open. Each is confirmed
 * by a live read, since it may have been created after the list in which it is missing.
 */
export async function findMissingObjects(deps: Deps, caches: Caches): Promise<Observation[]> {
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
    if (stored !== undefined) observations.push({ object: stored, gone: true });
  }
  return observations;
}

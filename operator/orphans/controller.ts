import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, composePlan } from "../../shared/controller/plan.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { metadataOnly } from "../../shared/kube/kind.ts";
import { objectKey, splitKey, toKey } from "../../shared/kube/object.ts";
import { earliest, remainingMs } from "../../shared/program/time.ts";
import { type CacheSet, type Caches, enqueueTo, type RunContext } from "../caches.ts";
import {
  capiClusterKind,
  LABEL_CAPI_CLUSTER,
  machineDeploymentKind,
  machineKind,
  machineSetKind,
} from "../capi/kinds.ts";
import { isDeleting, isSuspended } from "../identity/identity.ts";
import { findCapi } from "../identity/ownership.ts";
import { INDEX_CLUSTER } from "../indexes.ts";
import { decideOrphans, type WorkerObjects } from "./decide.ts";

export interface OrphansDeps {
  caches: Caches;
  client: Pick<KubeClient, "get" | "listAll">;
  now(): Date;
}

/** A deletion that lasts longer is looked at, this often. */
const CHECK_AFTER_MS = 20_000;
/** While something is being removed. */
const RECHECK_AFTER_MS = 2_000;

/**
 * Looks at the workers of a cluster that is being deleted, or one of whose pools is, and removes what Cluster API does not
 * continue. A Cluster API cluster that lost its Cluster without a deletion is another case: cluster/events.ts reports
 * it. It reads them uncached: nothing is removed on an old state. Rejects with a KubeError or StepError.
 */
export async function runOrphans(
  deps: OrphansDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const { caches } = deps;
  const cluster = caches.clusters.get(key);
  const deleting = [cluster, ...caches.nodePools.byIndex(INDEX_CLUSTER, key)].filter(
    (object) => object !== undefined && isDeleting(object),
  );
  const { capi, nameTaken } = findCapi(caches, key);
  const isPaused = isSuspended(cluster) || capi?.state.paused === true;
  if (deleting.length === 0 || nameTaken) return undefined;
  if (isPaused) return { requeueAfterMs: CHECK_AFTER_MS };
  const waitsMs = deleting.map((object) =>
    remainingMs(object?.metadata.deletionTimestamp, CHECK_AFTER_MS, deps.now()),
  );
  if (!waitsMs.includes(undefined)) return { requeueAfterMs: earliest(waitsMs) };
  const { remove, found } = decideOrphans(await readWorkers(deps, key, context.signal));
  const [object] = deleting;
  if (object === undefined) return undefined;
  await applyPlan({ ...context, kind: clusterKind }, object, composePlan({ remove }));
  return { requeueAfterMs: found ? RECHECK_AFTER_MS : CHECK_AFTER_MS };
}

/** From below: the owner of an object is created before it, so one that is absent afterwards is deleted. */
async function readWorkers(
  { client }: OrphansDeps,
  key: string,
  signal: AbortSignal,
): Promise<WorkerObjects> {
  const { namespace, name } = splitKey(key);
  const options = { namespace, labelSelector: `${LABEL_CAPI_CLUSTER}=${name}`, signal };
  const machines = await client.listAll(metadataOnly(machineKind), options);
  const machineSets = await client.listAll(metadataOnly(machineSetKind), options);
  const machineDeployments = await client.listAll(metadataOnly(machineDeploymentKind), options);
  const capiCluster = await client.get(metadataOnly(capiClusterKind), namespace, name, { signal });
  return { machines, machineSets, machineDeployments, hasCapiCluster: capiCluster !== undefined };
}

/** Adds the key of a cluster when it, or a pool of it, is being deleted. */
export function watchOrphans(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  cacheSet.listen("clusters", (change) => {
    if (isDeleting(change.object)) add(objectKey(change.object), change);
  });
  cacheSet.listen("nodePools", (change) => {
    const { metadata, spec } = change.object;
    if (isDeleting(change.object)) add(toKey(metadata.namespace, spec.clusterName), change);
  });
}

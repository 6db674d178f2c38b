import type { KubeClient } from "../../shared/kube/client.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import type { Caches } from "../caches.ts";
import { INDEX_ID } from "../indexes.ts";
import type { ReconcileResult } from "../runtime/controller.ts";
import { isOldEnough, readLock } from "./lock.ts";

export interface SweepDeps {
  client: Pick<KubeClient, "delete">;
  caches: Caches;
  now(): Date;
}

/** Frees one subnet whose cluster is no more, or lives in another one. Rejects with the KubeError of the API server. */
export async function sweepLock(deps: SweepDeps, key: string, signal: AbortSignal): Promise<ReconcileResult> {
  const configMap = deps.caches.subnetLocks.get(key);
  const lock = configMap && readLock(configMap);
  if (lock === undefined) return undefined;
  const [owner] = deps.caches.clusters.byIndex(INDEX_ID, lock.clusterId);
  const moved = owner?.status?.workerSubnet !== undefined && owner.status.workerSubnet !== lock.subnet;
  if ((owner !== undefined && !moved) || !isOldEnough(lock, deps.now())) return undefined;
  await deps.client.delete(configMapKind, configMap?.metadata.namespace, lock.name, {
    uid: lock.uid,
    signal,
  });
  return undefined;
}

import type { Cluster } from "../../shared/crd/cluster.ts";
import type { ConfigMap } from "../../shared/kube/core-kinds.ts";
import type { Caches } from "../caches.ts";
import { hasCapiWithId } from "../identity/ownership.ts";
import { INDEX_ID } from "../indexes.ts";
import { readLock, type SubnetLock } from "./lock.ts";

/** All that is known about one subnet lock when it is reconciled: plain data, no client. */
export interface ObservedLock {
  configMap: ConfigMap;
  lock: SubnetLock;
  /** The cluster that the subnet was assigned to; undefined = it is deleted, or not in the cache yet. */
  owner: Cluster | undefined;
  /** Cluster API has a cluster with this id, whose nodes use the subnet. */
  runsInCapi: boolean;
}

/** Gathers a lock from the caches; undefined = it is deleted. */
export function observeLock(caches: Caches, key: string): ObservedLock | undefined {
  const configMap = caches.subnetLocks.get(key);
  const lock = configMap && readLock(configMap);
  if (configMap === undefined || lock === undefined) return undefined;
  const [owner] = caches.clusters.byIndex(INDEX_ID, lock.clusterId);
  const runsInCapi = owner === undefined && hasCapiWithId(caches.capiClusters, lock.clusterId);
  return { configMap, lock, owner, runsInCapi };
}

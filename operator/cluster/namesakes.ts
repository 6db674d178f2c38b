import type { Cluster } from "../../shared/crd/cluster.ts";
import { identityOf, idOf } from "../../shared/crd/identity.ts";
import type { ConfigMap } from "../../shared/kube/core-kinds.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { isOlder } from "../../shared/kube/object.ts";
import type { Store } from "../../shared/kube/store.ts";
import { isReleased } from "../identity/identity.ts";
import { INDEX_LOCK_OWNER } from "../indexes.ts";
import { readLock } from "../subnets/lock.ts";

type Locks = Pick<Store<ConfigMap>, "byIndex">;

/** Whether the name of a Cluster that Cluster API does not know yet is another Namespace's, by the caches. */
export function isNameTakenElsewhere(
  caches: Record<"clusters" | "capiClusters", Pick<Store<KubeObject>, "list">> & { subnetLocks: Locks },
  cluster: Cluster,
): boolean {
  const { clusters, capiClusters, subnetLocks } = caches;
  return isNameTakenAmong(cluster, clusters.list(), capiClusters.list(), subnetLocks);
}

/**
 * Whether the name of a Cluster that Cluster API does not know yet is another Namespace's: of any cluster that Cluster API has
 * there, or of a Cluster that was made before, which may come back; of two such ones the older has it. One that was never made
 * has no name to itself: no tenant may block a name by a Cluster that is never made.
 */
export function isNameTakenAmong(
  cluster: Cluster,
  clusters: readonly (KubeObject & Pick<Cluster, "status">)[],
  capiClusters: readonly KubeObject[],
  locks: Locks,
): boolean {
  const { metadata } = cluster;
  const isNamesake = (other: KubeObject) =>
    other.metadata.name === metadata.name && other.metadata.namespace !== metadata.namespace;
  if (capiClusters.some(isNamesake)) return true;
  const rivals = clusters.filter((other) => isNamesake(other) && wasMade(other, locks));
  return wasMade(cluster, locks)
    ? rivals.some((other) => isOlder(other.metadata, metadata))
    : rivals.length > 0;
}

/** By its status, the lock of its subnet, or an id that it came with, as from a backup. What is gone, or is a copy, was not. */
function wasMade(cluster: KubeObject & Pick<Cluster, "status">, locks: Locks): boolean {
  if (isReleased(cluster) || identityOf(cluster) === "refused") return false;
  const id = idOf(cluster);
  return (
    cluster.status?.firstReadyAt !== undefined ||
    ["known", "unconfirmed"].includes(identityOf(cluster)) ||
    (id !== undefined &&
      locks.byIndex(INDEX_LOCK_OWNER, id).some((lock) => readLock(lock)?.capiUid !== undefined))
  );
}

import type { Problem } from "../shared/controller/conditions.ts";
import { type Cluster, clusterKind } from "../shared/crd/cluster.ts";
import { idOf } from "../shared/crd/identity.ts";
import { LABEL_ID } from "../shared/crd/names.ts";
import { apiVersionOf, type OwnerReference } from "../shared/kube/kind.ts";
import { toKey } from "../shared/kube/object.ts";
import type { Change } from "../shared/kube/reflector.ts";
import type { Store } from "../shared/kube/store.ts";
import { type EngineState, readEngineCluster } from "./engine/cluster-state.ts";
import type { EngineCluster, Machine, MachineDeployment, MachineSet } from "./engine/kinds.ts";
import { INDEX_CLUSTER_AND_POOL } from "./indexes.ts";

/** Cluster API's Cluster with what it reports. */
export interface OwnEngine {
  object: EngineCluster;
  state: EngineState;
}

/** The Cluster API cluster of a Cluster; of a foreign one nothing but its existence is known to any controller. */
export interface EngineOwnership {
  /** Undefined = there is none, or it is foreign. */
  engine: OwnEngine | undefined;
  /** There is one of this name that Marina did not make: nothing may be done with it or on its account. */
  nameTaken: boolean;
}

interface OwnershipCaches {
  clusters: Pick<Store<Cluster>, "get">;
  engineClusters: Pick<Store<EngineCluster>, "get">;
}

interface PoolCaches {
  machineDeployments: Pick<Store<MachineDeployment>, "byIndex">;
  machineSets: Pick<Store<MachineSet>, "byIndex">;
  machines: Pick<Store<Machine>, "byIndex">;
}

/** The Cluster API cluster of the Cluster with this key. Every controller asks here, none reads that cache itself. */
export function findEngine(caches: OwnershipCaches, key: string): EngineOwnership {
  return decideOwnership(caches.clusters.get(key), caches.engineClusters.get(key));
}

/**
 * Whether Marina made a Cluster API cluster for this Cluster: by the uid of its owner, or after a restore by the public id.
 * Without the Cluster (deleted by force, or not restored yet) one with any public id is Marina's.
 */
export function decideOwnership(
  cluster: Cluster | undefined,
  object: EngineCluster | undefined,
): EngineOwnership {
  if (object === undefined) return { engine: undefined, nameTaken: false };
  return isOwn(cluster, object)
    ? { engine: { object, state: readEngineCluster(object) }, nameTaken: false }
    : { engine: undefined, nameTaken: true };
}

/** Whether there is a Cluster API cluster that Marina made with this public id, whatever has become of its Cluster. */
export function hasEngineWithId(engineClusters: Pick<Store<EngineCluster>, "list">, id: string): boolean {
  return engineClusters.list().some(({ metadata }) => metadata.labels?.[LABEL_ID] === id);
}

/** The MachineDeployments, MachineSets and Machines of a pool; of a foreign cluster none. */
export function findPoolObjects(
  caches: OwnershipCaches & PoolCaches,
  clusterKey: string,
  poolName: string,
): { deployments: MachineDeployment[]; sets: MachineSet[]; machines: Machine[] } {
  if (findEngine(caches, clusterKey).nameTaken) return { deployments: [], sets: [], machines: [] };
  const key = toKey(clusterKey, poolName);
  return {
    deployments: caches.machineDeployments.byIndex(INDEX_CLUSTER_AND_POOL, key),
    sets: caches.machineSets.byIndex(INDEX_CLUSTER_AND_POOL, key),
    machines: caches.machines.byIndex(INDEX_CLUSTER_AND_POOL, key),
  };
}

/** Whether a change may be one of ownership: the object came, went, or has other owners or labels than before. */
export function isOwnerChanged({ type, previous, object }: Change<EngineCluster>): boolean {
  return type !== "updated" || previous === undefined || ownerOf(previous) !== ownerOf(object);
}

function ownerOf({ metadata }: EngineCluster): string {
  const owners = metadata.ownerReferences?.map(({ uid }) => uid) ?? [];
  return `${metadata.labels?.[LABEL_ID]} ${owners.join(" ")}`;
}

/** The owner of what is made for a cluster. */
export function composeOwnerReference({ metadata }: Cluster): OwnerReference {
  const { name, uid = "" } = metadata;
  return { apiVersion: apiVersionOf(clusterKind), kind: clusterKind.kind, name, uid, controller: true };
}

/** The fault of a Cluster, or of what depends on it, whose name a foreign Cluster API cluster has. */
export function composeNameTaken(clusterName: string): Problem {
  const message = `The name ${clusterName} is taken by a cluster that this platform does not run; create the cluster under another name.`;
  return { reason: "NameTaken", message };
}

function isOwn(cluster: Cluster | undefined, { metadata }: EngineCluster): boolean {
  const id = metadata.labels?.[LABEL_ID];
  if (cluster === undefined) return id !== undefined;
  const { uid } = cluster.metadata;
  const isOwner = metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
  return isOwner || (id !== undefined && idOf(cluster) === id);
}

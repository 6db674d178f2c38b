import type { Problem } from "../../shared/controller/conditions.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { LABEL_ID, UUID_PATTERN } from "../../shared/crd/names.ts";
import { apiVersionOf, type OwnerReference } from "../../shared/kube/kind.ts";
import { toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { Store } from "../../shared/kube/store.ts";
import { type CapiState, readCapiCluster } from "../capi/cluster-state.ts";
import type { CapiCluster, Machine, MachineDeployment, MachineSet } from "../capi/kinds.ts";
import { INDEX_CLUSTER_AND_POOL } from "../indexes.ts";
import { isFinalized } from "./identity.ts";

/** Cluster API's Cluster with what it reports. */
export interface OwnCapi {
  object: CapiCluster;
  state: CapiState;
}

/** The Cluster API cluster of a Cluster; of a foreign one nothing but its existence is known to any controller. */
export interface CapiOwnership {
  /** Undefined = there is none, or it is foreign. */
  capi: OwnCapi | undefined;
  /** There is one of this name that Marina did not make: nothing may be done with it or on its account. */
  nameTaken: boolean;
}

interface OwnershipCaches {
  clusters: Pick<Store<Cluster>, "get">;
  capiClusters: Pick<Store<CapiCluster>, "get">;
}

interface PoolCaches {
  machineDeployments: Pick<Store<MachineDeployment>, "byIndex">;
  machineSets: Pick<Store<MachineSet>, "byIndex">;
  machines: Pick<Store<Machine>, "byIndex">;
}

/** The Cluster API cluster of the Cluster with this key, and whether it is Marina's own, which is asked here before any use of it. */
export function findCapi(caches: OwnershipCaches, key: string): CapiOwnership {
  return decideOwnership(caches.clusters.get(key), caches.capiClusters.get(key));
}

/**
 * Whether Marina made a Cluster API cluster for this Cluster: by the uid of its owner, or after a restore by the public
 * id. Without the Cluster (deleted by force, or not restored yet) one with any public id is Marina's.
 */
export function decideOwnership(
  cluster: Cluster | undefined,
  object: CapiCluster | undefined,
): CapiOwnership {
  if (object === undefined) return { capi: undefined, nameTaken: false };
  return isOwn(cluster, object)
    ? { capi: { object, state: stateOf(object) }, nameTaken: false }
    : { capi: undefined, nameTaken: true };
}

/** The state of each object, as long as a cache has that: at a start the reconciles of one cluster ask for it 26 times. */
const states = new WeakMap<CapiCluster, CapiState>();

function stateOf(object: CapiCluster): CapiState {
  const state = states.get(object) ?? readCapiCluster(object);
  states.set(object, state);
  return state;
}

/** Whether there is a Cluster API cluster that Marina made with this public id, whatever has become of its Cluster. */
export function hasCapiWithId(capiClusters: Pick<Store<CapiCluster>, "list">, id: string): boolean {
  return capiClusters.list().some(({ metadata }) => metadata.labels?.[LABEL_ID] === id);
}

const ID = new RegExp(UUID_PATTERN);

/**
 * Whether Marina made a Cluster API cluster that has no Cluster: there is none of its name, that one is another, or its finalizer
 * was taken away by force.
 */
export function isOrphaned(cluster: Cluster | undefined, object: CapiCluster): boolean {
  if (!ID.test(object.metadata.labels?.[LABEL_ID] ?? "")) return false;
  return cluster === undefined || isFinalized(cluster) || !isOwn(cluster, object);
}

/** The MachineDeployments, MachineSets and Machines of a pool; of a foreign cluster none. */
export function findPoolObjects(
  caches: OwnershipCaches & PoolCaches,
  clusterKey: string,
  poolName: string,
): { machineDeployments: MachineDeployment[]; sets: MachineSet[]; machines: Machine[] } {
  if (findCapi(caches, clusterKey).nameTaken) return { machineDeployments: [], sets: [], machines: [] };
  const key = toKey(clusterKey, poolName);
  return {
    machineDeployments: caches.machineDeployments.byIndex(INDEX_CLUSTER_AND_POOL, key),
    sets: caches.machineSets.byIndex(INDEX_CLUSTER_AND_POOL, key),
    machines: caches.machines.byIndex(INDEX_CLUSTER_AND_POOL, key),
  };
}

/** Whether a change may be one of ownership: the object came, went, or has other owners or labels than before. */
export function isOwnerChanged({ type, previous, object }: Change<CapiCluster>): boolean {
  return type !== "updated" || previous === undefined || ownerOf(previous) !== ownerOf(object);
}

function ownerOf({ metadata }: CapiCluster): string {
  const owners = metadata.ownerReferences?.map(({ uid }) => uid) ?? [];
  return `${metadata.labels?.[LABEL_ID]} ${owners.join(" ")}`;
}

/** The owner of what is made for a cluster. */
export function composeOwnerReference({ metadata }: Cluster): OwnerReference {
  const { name, uid = "" } = metadata;
  return { apiVersion: apiVersionOf(clusterKind), kind: clusterKind.kind, name, uid, controller: true };
}

/** The problem of a Cluster, or of what depends on it, whose name a foreign Cluster API cluster has. */
export function composeNameTaken(clusterName: string): Problem {
  const message = `The name ${clusterName} is taken by a cluster that this platform does not run; create the cluster under another name.`;
  return { reason: "NameTaken", message };
}

/** The problem of a Cluster whose name is another Namespace's, on infrastructure where both would be one. */
export function composeNameElsewhere(clusterName: string): Problem {
  const message = `The name ${clusterName} is taken by another cluster on this infrastructure; create the cluster under another name.`;
  return { reason: "NameTaken", message };
}

function isOwn(cluster: Cluster | undefined, { metadata }: CapiCluster): boolean {
  const id = metadata.labels?.[LABEL_ID];
  if (cluster === undefined) return id !== undefined;
  const { uid } = cluster.metadata;
  const isOwner = metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
  return isOwner || (id !== undefined && idOf(cluster) === id);
}

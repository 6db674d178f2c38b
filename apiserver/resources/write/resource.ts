import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import { type ClusterAccess, clusterAccessKind } from "../../../shared/crd/cluster-access.ts";
import { type NodePool, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import type { Kind, KubeObject } from "../../../shared/kube/kind.ts";
import type { Queryable } from "../../db/client.ts";
import { type ProjectedCluster, type ProjectedNodePool, projectObservations } from "../project/index.ts";

/** The kinds that requests write, by the name that an intent stores. */
export const WRITTEN_KINDS = {
  Cluster: clusterKind,
  NodePool: nodePoolKind,
  ClusterAccess: clusterAccessKind,
} as const satisfies Record<string, Kind<Cluster> | Kind<NodePool> | Kind<ClusterAccess>>;

export type WrittenKind = keyof typeof WRITTEN_KINDS;

/** An object by its public id and its place in the Kubernetes API. */
export interface ObjectRef {
  id: string;
  namespace: string;
  name: string;
  uid: string;
}

/** The objects of one kind and one parent, as a write has to know them; `P` is what a write returns. */
export interface Resource<T extends KubeObject, P extends ObjectRef> {
  kindName: WrittenKind;
  kind: Kind<T>;
  /** As messages call it: "node pool". */
  noun: string;
  /** As audit rows call it. */
  targetKind: "cluster" | "node_pool" | "cluster_access";
  orgId: string;
  /** Where names are unique. */
  parent: { noun: "organization" | "cluster"; id: string };
  /** The error for a name that is taken. */
  takenNameCode: "already_exists" | "validation_failed";
  /** The wire name of each setting, by its path inside `spec`. */
  wireNames: Readonly<Record<string, string>>;
  /** Converts the object to its served form. */
  project: (object: T) => P;
  /** Brings the projection up to date with what was read or written. */
  save: (tx: Queryable, object: P, options: { gone: boolean }) => Promise<unknown>;
}

/** What was written. */
export interface WriteResult<P, E> {
  object: P;
  /** What else the write would do; only of a dry run. */
  effects: E | undefined;
}

/** Brings the projection up to date with an object that was read or written: every replica serves it afterwards. */
export async function saveProjection(
  tx: Queryable,
  object: ProjectedCluster | ProjectedNodePool,
  { gone }: { gone: boolean },
): Promise<void> {
  await projectObservations(tx, [{ object, gone }]);
}

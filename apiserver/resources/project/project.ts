import type { Cluster } from "../../../shared/crd/cluster.ts";
import { idOf } from "../../../shared/crd/identity.ts";
import { MANAGER_APISERVER_NETWORK } from "../../../shared/crd/names.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import type { KubeObject, ManagedFieldsEntry, ObjectMeta } from "../../../shared/kube/kind.ts";
import { toStorable } from "../../db/storable.ts";
import { type OutsideWriter, outsideWritersOf } from "./outside-changes.ts";
import {
  type ClusterStatusName,
  clusterStatusOf,
  type NodePoolStatusName,
  nodePoolStatusOf,
} from "./status.ts";

/** Admission enforces this format of labels; an object that bypassed it is not served. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A custom resource as the API serves it. `object` has no managedFields; values derived from them are other fields. */
interface Projected<Kind extends KubeObject> {
  uid: string;
  /** The public id. */
  id: string;
  orgId: string;
  namespace: string;
  /** metadata.name */
  name: string;
  /** `name` in the REST API. */
  displayName: string;
  resourceVersion: bigint;
  updatedAt: Date;
  /** Managers of its spec fields other than REST. */
  outsideWriters: OutsideWriter[];
  object: Kind;
}

export interface ProjectedCluster extends Projected<Cluster> {
  status: ClusterStatusName;
  networkUpdatedAt: Date;
}

export interface ProjectedNodePool extends Projected<NodePool> {
  status: NodePoolStatusName;
  clusterId: string;
}

export type ProjectedObject = ProjectedCluster | ProjectedNodePool;

/** Projects a Cluster of an organization; undefined while the object has no public id yet. */
export function toProjectedCluster(observed: Cluster, orgId: string): ProjectedCluster | undefined {
  const cluster = toStorable(observed);
  const common = projectCommon(cluster, orgId, cluster.spec.displayName);
  if (common === undefined) return undefined;
  return {
    ...common,
    status: clusterStatusOf(cluster),
    networkUpdatedAt: networkUpdatedAtOf(cluster.metadata),
  };
}

/** Projects a NodePool of a cluster; undefined while the object has no public id yet. */
export function toProjectedNodePool(
  observed: NodePool,
  orgId: string,
  clusterId: string,
): ProjectedNodePool | undefined {
  const pool = toStorable(observed);
  const common = projectCommon(pool, orgId, pool.spec.displayName);
  if (common === undefined) return undefined;
  return { ...common, status: nodePoolStatusOf(pool), clusterId };
}

export function isPool(object: ProjectedObject): object is ProjectedNodePool {
  return "clusterId" in object;
}

/** The id of the cluster, or of the cluster that the pool belongs to. */
export function clusterIdOf(object: ProjectedObject): string {
  return isPool(object) ? object.clusterId : object.id;
}

function projectCommon<Kind extends KubeObject>(
  object: Kind,
  orgId: string,
  displayName: string | undefined,
): Projected<Kind> | undefined {
  const { uid, namespace, name, resourceVersion } = object.metadata;
  const id = idOf(object)?.toLowerCase() ?? "";
  if (!UUID.test(id) || uid === undefined || namespace === undefined || resourceVersion === undefined)
    return undefined;
  return {
    uid,
    id,
    orgId,
    namespace,
    name,
    displayName: displayName ?? name,
    resourceVersion: BigInt(resourceVersion),
    updatedAt: updatedAtOf(object.metadata),
    outsideWriters: outsideWritersOf(object.metadata.managedFields),
    object: withoutManagedFields(object),
  };
}

function withoutManagedFields<Kind extends KubeObject>(object: Kind): Kind {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/**
 * When an object was last changed: the newest managedFields time outside the status subresource, its
 * creation at least. Times have whole seconds, as the Kubernetes API writes them.
 */
function updatedAtOf(metadata: ObjectMeta): Date {
  return newestOf(metadata, (entry) => entry.subresource !== "status");
}

/** When the network policy was last set by REST, which writes it under a separate field manager. */
function networkUpdatedAtOf(metadata: ObjectMeta): Date {
  return newestOf(metadata, (entry) => entry.manager === MANAGER_APISERVER_NETWORK);
}

function newestOf(metadata: ObjectMeta, counts: (entry: ManagedFieldsEntry) => boolean): Date {
  const times = (metadata.managedFields ?? [])
    .filter((entry) => entry.time !== undefined && counts(entry))
    .map((entry) => Date.parse(entry.time ?? ""));
  return new Date(Math.max(Date.parse(metadata.creationTimestamp ?? "") || 0, ...times));
}

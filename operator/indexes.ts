import type { ClusterAccess } from "../shared/crd/cluster-access.ts";
import { LABEL_CLUSTER_ID } from "../shared/crd/names.ts";
import type { NodePool } from "../shared/crd/node-pool.ts";
import type { ConfigMap } from "../shared/kube/core-kinds.ts";
import type { KubeObject } from "../shared/kube/kind.ts";
import { toKey } from "../shared/kube/object.ts";
import { capiClusterNameOf, capiPoolNameOf } from "./capi/kinds.ts";

export { INDEX_ORGANIZATION } from "../shared/crd/organization.ts";

/** Objects by their public id. */
export const INDEX_ID = "id";
export const INDEX_NAMESPACE = "namespace";
/** Pools and accesses by "namespace/cluster". */
export const INDEX_CLUSTER = "cluster";
/** MachineDeployments, MachineSets and Machines by "namespace/cluster/pool". */
export const INDEX_CLUSTER_AND_POOL = "clusterAndPool";
/** Machines by "namespace/kind/name" of their infrastructure object. */
export const INDEX_INFRASTRUCTURE = "infrastructure";
/** Allocations of subnets by the public id of their cluster. */
export const INDEX_SUBNET_OWNER = "subnetOwner";
/** Clusters by "namespace name", pools by "namespace/cluster name": the display names. */
export const INDEX_NAME = "name";
/** Clusters and pools that are blocked by a quota or a duplicate name, by namespace. */
export const INDEX_BLOCKED = "blocked";
/** The Secrets of registrations by "namespace/cluster". */
export const INDEX_REGISTRATION = "registration";

export function indexByCluster({ metadata, spec }: NodePool | ClusterAccess): string[] {
  return [toKey(metadata.namespace, spec.clusterName)];
}

export function indexByNamespace(object: KubeObject): string[] {
  return [object.metadata.namespace ?? ""];
}

export function indexBySubnetOwner(allocation: ConfigMap): string[] {
  const owner = allocation.metadata.labels?.[LABEL_CLUSTER_ID];
  return owner === undefined ? [] : [owner];
}

export function indexByPool(object: KubeObject): string[] {
  const cluster = capiClusterNameOf(object.metadata);
  const pool = capiPoolNameOf(object.metadata);
  if (cluster === undefined || pool === undefined) return [];
  return [toKey(object.metadata.namespace, toKey(cluster, pool))];
}

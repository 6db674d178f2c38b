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
/** Subnet locks by the public id of their cluster. */
export const INDEX_LOCK_OWNER = "lockOwner";
/** Clusters by "namespace name", pools by "namespace/cluster name": the display names. */
export const INDEX_NAME = "name";
/** Clusters and pools that are blocked by a quota or a duplicate name, by namespace. */
export const INDEX_BLOCKED = "blocked";
/** The Secrets of registrations by "namespace/cluster". */
export const INDEX_REGISTRATION = "registration";

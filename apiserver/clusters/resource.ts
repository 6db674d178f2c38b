import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { CLUSTER_WIRE_NAMES } from "../../shared/crd/wire-names.ts";
import { ApiError } from "../http/errors.ts";
import { type ProjectedCluster, toProjectedCluster } from "../resources/project/index.ts";
import { type Resource, requireNotSuspended, saveProjection } from "../resources/write/index.ts";

/** The clusters of one organization. */
export function clustersOf(orgId: string): Resource<Cluster, ProjectedCluster> {
  return {
    kindName: "Cluster",
    kind: clusterKind,
    noun: "cluster",
    targetKind: "cluster",
    orgId,
    parent: { noun: "organization", id: orgId },
    takenNameCode: "already_exists",
    wireNames: CLUSTER_WIRE_NAMES,
    project(object) {
      const projected = toProjectedCluster(object, orgId);
      if (projected === undefined) throw new Error(`cluster ${object.metadata.name} has lost its id`);
      return projected;
    },
    save: saveProjection,
  };
}

/** Throws 409 conflict for a cluster that is being deleted, or is suspended. */
export function requireChangeable(cluster: ProjectedCluster): void {
  if (cluster.status === "deleting")
    throw new ApiError("conflict", "The cluster is being deleted; it can no longer be changed.");
  requireNotSuspended(cluster);
}

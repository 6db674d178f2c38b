import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import { ApiError, notFound } from "../http/errors.ts";
import {
  findCluster,
  isNameInFlight,
  type ProjectedCluster,
  projectObservations,
  toProjectedCluster,
} from "../projection/store.ts";

/** When a client may ask again about what it was promised with 202. */
export const RETRY_AFTER = { "Retry-After": "10" };

/** The cluster of a path, as it is projected. Throws 404. */
export async function requireCluster(
  deps: Pick<Deps, "db">,
  orgId: string,
  clusterId: string,
): Promise<ProjectedCluster> {
  const cluster = await findCluster(deps.db, orgId, clusterId);
  if (cluster === undefined) throw notFound("cluster");
  return cluster;
}

/** The Cluster as the Kubernetes API has it now. One that is gone is no longer served from then on: throws 404. */
export async function readLive(deps: Deps, cluster: ProjectedCluster): Promise<Cluster> {
  const live = await deps.kube.get(clusterKind, cluster.namespace, cluster.name);
  if (live?.metadata.uid === cluster.uid) return live;
  await deps.db.transaction((tx) => projectObservations(tx, [{ object: cluster, gone: true }]));
  throw notFound("cluster");
}

/** A Cluster that was just read or written, as it is served; it has had its id since it was created. */
export function projectLive(object: Cluster, orgId: string): ProjectedCluster {
  const projected = toProjectedCluster(object, orgId);
  if (projected === undefined) throw new Error(`cluster ${object.metadata.name} has lost its id`);
  return projected;
}

/** 409 for a name that another cluster has, or that a request under way has taken. */
export async function nameTaken(db: Queryable, orgId: string, name: string): Promise<ApiError> {
  if (await isNameInFlight(db, orgId, name))
    return new ApiError("operation_in_progress", `A cluster named ${name} is being written right now.`, {
      retryAfterSeconds: 10,
    });
  return new ApiError("already_exists", `The organization already has a cluster named ${name}.`, {
    details: [{ field: "name", code: "duplicate", message: "is taken" }],
  });
}

/** 409 for a cluster that is being deleted: nothing of it can be changed any more. */
export function requireNotDeleting(cluster: ProjectedCluster): void {
  if (cluster.status === "deleting")
    throw new ApiError("conflict", "The cluster is being deleted; it cannot be changed any more.");
}

import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import type { Deps } from "../deps.ts";
import { ApiError, notFound } from "../http/errors.ts";
import {
  isNameInFlight,
  type ProjectedCluster,
  projectSights,
  toProjectedCluster,
} from "../projection/store.ts";

/** The Cluster as the Kubernetes API has it now. One that is gone is no longer served from then on: throws 404. */
export async function readLive(deps: Deps, cluster: ProjectedCluster): Promise<Cluster> {
  const live = await deps.kube.get(clusterKind, cluster.namespace, cluster.name);
  if (live?.metadata.uid === cluster.uid) return live;
  await deps.db.transaction((tx) => projectSights(tx, [{ object: cluster, gone: true }]));
  throw notFound("cluster");
}

/** A Cluster that was just read or written, as it is served; it has had its id since it was created. */
export function projectLive(object: Cluster, orgId: string): ProjectedCluster {
  const projected = toProjectedCluster(object, orgId);
  if (projected === undefined) throw new Error(`cluster ${object.metadata.name} has lost its id`);
  return projected;
}

/** 409 for a name that another cluster has, or that a request under way has taken. */
export async function nameTaken(deps: Deps, orgId: string, name: string): Promise<ApiError> {
  if (await isNameInFlight(deps.db, orgId, name))
    return new ApiError("operation_in_progress", `A cluster named ${name} is being written right now.`, {
      retryAfterSeconds: 10,
    });
  return new ApiError("already_exists", `The organization already has a cluster named ${name}.`, {
    details: [{ field: "name", code: "duplicate", message: "is taken" }],
  });
}

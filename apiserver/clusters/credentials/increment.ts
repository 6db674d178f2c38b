import type { Deps } from "../../deps.ts";
import type { Origin } from "../../http/authentication/principal.ts";
import { asAuthorized } from "../../http/contract/caller.ts";
import { ApiError } from "../../http/errors.ts";
import { findCluster, type ProjectedCluster } from "../../resources/project/index.ts";
import type { ClusterMerge } from "../merge-update.ts";
import { changeCluster } from "../write.ts";

/** The next generation of a cluster's admin credentials: it revokes every admin kubeconfig that was issued before. */
export function planNextGeneration({ object }: ProjectedCluster): ClusterMerge {
  return {
    outcome: "patch",
    patch: { credentialsGeneration: (object.spec.credentialsGeneration ?? 0) + 1 },
  };
}

/**
 * Revokes the admin kubeconfig of a cluster, whose author is the request that ended a right to it. Returns the generation that
 * ends the earlier ones; undefined for a cluster that is deleted, where there is nothing to do. Throws what `changeCluster`
 * throws.
 */
export async function incrementCredentialsGeneration(
  deps: Deps,
  origin: Origin,
  orgId: string,
  clusterId: string,
): Promise<number | undefined> {
  const cluster = await findCluster(deps.db, orgId, clusterId);
  if (cluster === undefined) return undefined;
  try {
    const { object } = await changeCluster(deps, asAuthorized(origin), cluster, {
      action: "cluster.rotate_credentials",
      preconditions: undefined,
      decide: planNextGeneration,
    });
    return object.object.spec.credentialsGeneration;
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "not_found")) throw error;
    return undefined;
  }
}

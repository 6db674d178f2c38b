import type { Problem } from "../../shared/controller/conditions.ts";
import { identityOf, idOf } from "../../shared/crd/identity.ts";
import { ANNOTATION_RECREATE, LABEL_ID } from "../../shared/crd/names.ts";
import { INFRASTRUCTURE_LOST } from "./health.ts";
import type { ObservedCluster } from "./observe.ts";

/**
 * Why a cluster that was there before is not made again: Cluster API does not have it. It may come back, as in a restore in
 * any order; a new one would have the same name and nothing of what ran in it. Undefined = nothing is lost.
 */
export function findLoss({ cluster, capi, nameTaken }: ObservedCluster): Problem | undefined {
  if (identityOf(cluster) !== "known" || capi !== undefined || nameTaken) return undefined;
  const id = idOf(cluster);
  if (cluster.metadata.annotations?.[ANNOTATION_RECREATE] === id) return undefined;
  const message = `The cluster was there before, and Cluster API does not have it any more. Restore its Cluster API objects, too; or, to have an empty cluster in its place, set the annotation ${ANNOTATION_RECREATE} of the Cluster to its id, which its label ${LABEL_ID} has.`;
  return { reason: INFRASTRUCTURE_LOST, message };
}

/** The annotation of a loss that is over: the same word in a later backup must not count again. */
export function findHandledRecreation({ cluster }: ObservedCluster): string[] {
  const isOver = identityOf(cluster) === "confirmed";
  return isOver && cluster.metadata.annotations?.[ANNOTATION_RECREATE] !== undefined
    ? [ANNOTATION_RECREATE]
    : [];
}

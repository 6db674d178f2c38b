import { isPool, type ProjectedNodePool, type ProjectedObject } from "./project.ts";
import { isSamePlace, type RecordedPlace } from "./records.ts";

/**
 * Whether a pool belongs to the cluster that it is projected under: the records have that cluster under the name by which the
 * pool's spec refers to it, in the pool's organization and Namespace. The label of a Cluster may hold any cluster's id.
 */
export function judgeCluster(
  { orgId, namespace, object }: Pick<ProjectedNodePool, "orgId" | "namespace" | "object">,
  recorded: RecordedPlace | undefined,
): "own" | "foreign" | "unrecorded" {
  if (recorded === undefined) return "unrecorded";
  const named = { orgId, namespace, objectName: object.spec.clusterName };
  return isSamePlace(named, recorded) ? "own" : "foreign";
}

/** Observations of objects, without the pools that must not be written. */
export interface SortedPools<T> {
  writable: T[];
  /** Ids of pools whose cluster is another one. */
  foreign: string[];
  /** Ids of pools whose cluster was not projected yet: they come again. */
  unrecorded: string[];
}

/** Takes out pools by the records of their clusters. */
export function sortPools<T extends { object: ProjectedObject }>(
  steps: readonly T[],
  recorded: ReadonlyMap<string, RecordedPlace>,
): SortedPools<T> {
  const sorted: SortedPools<T> = { writable: [], foreign: [], unrecorded: [] };
  for (const step of steps) {
    const { object } = step;
    const verdict = isPool(object) ? judgeCluster(object, recorded.get(object.clusterId)) : "own";
    if (verdict === "own") sorted.writable.push(step);
    else sorted[verdict].push(object.id);
  }
  return sorted;
}

import {
  addAmounts,
  findShortfalls,
  growthOf,
  isGrowth,
  NO_AMOUNTS,
  type QuotaAmounts,
  type Shortfall,
} from "../../shared/crd/quota.ts";
import type { ObjectMeta } from "../../shared/kube/kind.ts";
import { compareAge } from "../../shared/kube/object.ts";

/** What one object uses of the quotas, by what Cluster API was given for it, and what its specification requests. */
export interface QuotaRequest {
  key: string;
  metadata: Pick<ObjectMeta, "name" | "uid" | "creationTimestamp">;
  granted: QuotaAmounts;
  requested: QuotaAmounts;
  /** The cluster of a pool: without it the pool cannot grow. */
  clusterKey?: string;
}

/**
 * The objects of an organization that request more than its limits allow, and by how much. What was granted counts first
 * and is never taken away; then growth is granted in the order of age, each object wholly or not at all.
 */
export function findRejectedRequests(
  limits: QuotaAmounts,
  clusters: readonly QuotaRequest[],
  pools: readonly QuotaRequest[],
): ReadonlyMap<string, Shortfall[]> {
  let used = [...clusters, ...pools].reduce((sum, { granted }) => addAmounts(sum, granted), NO_AMOUNTS);
  const rejected = new Map<string, Shortfall[]>();
  const known = new Set(clusters.map(({ key }) => key));
  for (const { key, clusterKey, granted, requested } of [...byAge(clusters), ...byAge(pools)]) {
    if (clusterKey !== undefined && (!known.has(clusterKey) || rejected.has(clusterKey))) continue;
    const growth = growthOf(granted, requested);
    if (!isGrowth(growth)) continue;
    const shortfalls = findShortfalls(limits, used, growth);
    if (shortfalls.length > 0) rejected.set(key, shortfalls);
    else used = addAmounts(used, growth);
  }
  return rejected;
}

function byAge(requests: readonly QuotaRequest[]): QuotaRequest[] {
  return requests.toSorted((left, right) => compareAge(left.metadata, right.metadata));
}

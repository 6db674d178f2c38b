import { addAmounts, mapAmounts, NO_AMOUNTS, type QuotaAmounts } from "../../shared/crd/quota.ts";
import { INDEX_CLUSTER } from "../indexes.ts";
import type { QuotaRequest } from "./admission.ts";
import { type QuotaCaches, requestOfCluster, requestsOfPools } from "./requests.ts";

export interface QuotaUsage {
  /** Recounts a cluster ("namespace/name") and its pools from the caches. */
  update(clusterKey: string): void;
  /** What everything in a namespace would use if every request were granted. */
  maximumUsage(namespace: string): QuotaAmounts;
}

/**
 * Keeps the totals from which most reconciles see at once that no quota is near: checking a namespace of a thousand
 * clusters takes 10 ms for each of them.
 */
export function createQuotaUsage(caches: QuotaCaches): QuotaUsage {
  const byCluster = new Map<string, QuotaAmounts>();
  const byNamespace = new Map<string, QuotaAmounts>();

  function count(clusterKey: string): QuotaAmounts {
    const cluster = caches.clusters.get(clusterKey);
    const own = cluster === undefined ? [] : [requestOfCluster(caches, cluster)];
    const pools = requestsOfPools(caches, caches.nodePools.byIndex(INDEX_CLUSTER, clusterKey));
    return [...own, ...pools].map(maximumOf).reduce(addAmounts, NO_AMOUNTS);
  }

  return {
    update(clusterKey) {
      const namespace = clusterKey.split("/", 1)[0] ?? "";
      const before = byCluster.get(clusterKey) ?? NO_AMOUNTS;
      const after = count(clusterKey);
      const sum = byNamespace.get(namespace) ?? NO_AMOUNTS;
      const next = mapAmounts((name) => sum[name] - before[name] + after[name]);
      if (next.clusters + next.nodePools === 0) byNamespace.delete(namespace);
      else byNamespace.set(namespace, next);
      if (after.clusters + after.nodePools === 0) byCluster.delete(clusterKey);
      else byCluster.set(clusterKey, after);
    },
    maximumUsage: (namespace) => byNamespace.get(namespace) ?? NO_AMOUNTS,
  };
}

function maximumOf({ granted, requested }: QuotaRequest): QuotaAmounts {
  return mapAmounts((name) => Math.max(granted[name], requested[name]));
}

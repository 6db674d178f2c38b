import type { Cluster } from "../../shared/crd/cluster.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import {
  addAmounts,
  CLUSTER_AMOUNTS,
  findShortfalls,
  formatLimits,
  growthOf,
  isGrowth,
  mapAmounts,
  NO_AMOUNTS,
  occupiedAmounts,
  poolAmounts,
  type QuotaAmounts,
  type Shortfall,
} from "../../shared/crd/quota.ts";
import type { ObjectMeta } from "../../shared/kube/kind.ts";
import { compareAge, objectKey, toKey } from "../../shared/kube/object.ts";
import type { Store } from "../../shared/kube/store.ts";
import type { CapiCluster } from "../capi/kinds.ts";
import { findFixedCount, findLiveReplicas } from "../capi/pool-replicas.ts";
import { readTopologyPools, type TopologyPool } from "../capi/worker-pool.ts";
import { isDeleting } from "../identity/identity.ts";
import { findCapi } from "../identity/ownership.ts";
import { INDEX_CLUSTER, INDEX_NAMESPACE } from "../indexes.ts";

/** The caches from which an organization's usage is counted. */
export interface QuotaCaches {
  clusters: Store<Cluster>;
  nodePools: Store<NodePool>;
  capiClusters: Store<CapiCluster>;
}

export interface QuotaUsage {
  /** Recounts a cluster ("namespace/name") and its pools from the caches. */
  update(clusterKey: string): void;
  /** What everything in a namespace would use if every request were granted. */
  maximumUsage(namespace: string): QuotaAmounts;
  /** What in a namespace exceeds these limits, by the key of the request: counted once until something in it changes. */
  overQuota(namespace: string, limits: QuotaAmounts): ReadonlyMap<string, Shortfall[]>;
}

/**
 * Keeps the totals from which most reconciles see at once that no quota is near, and what was counted last: checking a namespace
 * of a thousand clusters or blocked pools takes 10 ms, for each of them.
 */
export function createQuotaUsage(caches: QuotaCaches): QuotaUsage {
  const byCluster = new Map<string, QuotaAmounts>();
  const byNamespace = new Map<string, QuotaAmounts>();
  const counted = new Map<string, { key: string; overQuota: ReadonlyMap<string, Shortfall[]> }>();

  function count(clusterKey: string): QuotaAmounts {
    const cluster = caches.clusters.get(clusterKey);
    const own = cluster === undefined ? [] : [requestOfCluster(caches, cluster)];
    const pools = requestsOfPools(caches, caches.nodePools.byIndex(INDEX_CLUSTER, clusterKey));
    return [...own, ...pools].map(maximumOf).reduce(addAmounts, NO_AMOUNTS);
  }

  return {
    update(clusterKey) {
      const namespace = clusterKey.split("/", 1)[0] ?? "";
      counted.delete(namespace);
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
    overQuota(namespace, limits) {
      const key = formatLimits(limits);
      const known = counted.get(namespace);
      if (known?.key === key) return known.overQuota;
      const clusters = caches.clusters.byIndex(INDEX_NAMESPACE, namespace);
      const pools = caches.nodePools.byIndex(INDEX_NAMESPACE, namespace);
      const overQuota = findOverQuota(
        limits,
        clusters.map((cluster) => requestOfCluster(caches, cluster)),
        requestsOfPools(caches, pools),
      );
      counted.set(namespace, { key, overQuota });
      return overQuota;
    },
  };
}

function maximumOf({ granted, requested }: QuotaRequest): QuotaAmounts {
  return mapAmounts((name) => Math.max(granted[name], requested[name]));
}

/** What a cluster was granted and requests. */
export function requestOfCluster(caches: QuotaCaches, cluster: Cluster): QuotaRequest {
  const key = objectKey(cluster);
  const granted = findCapi(caches, key).capi === undefined ? NO_AMOUNTS : CLUSTER_AMOUNTS;
  const requested = isDeleting(cluster) ? granted : CLUSTER_AMOUNTS;
  return { key, metadata: cluster.metadata, granted, requested };
}

/**
 * What pools were granted, by the live topologies of their clusters, and what they request; both with what machines hold
 * in addition to that. A pool that is being deleted requests no more than it has.
 */
export function requestsOfPools(caches: QuotaCaches, pools: readonly NodePool[]): QuotaRequest[] {
  const topologyPoolsByCluster = new Map<string, ReadonlyMap<string, TopologyPool>>();
  return pools.map((pool) => {
    const { metadata, spec } = pool;
    const clusterKey = toKey(metadata.namespace, spec.clusterName);
    const topologyPools =
      topologyPoolsByCluster.get(clusterKey) ?? readTopologyPools(findCapi(caches, clusterKey).capi?.object);
    topologyPoolsByCluster.set(clusterKey, topologyPools);
    const topologyPool = topologyPools.get(metadata.name);
    const liveAmounts = amountsOf(topologyPool, spec);
    const granted = addAmounts(liveAmounts, occupiedAmounts(pool, liveAmounts));
    // An autoscaled pool has its maximum of nodes at most.
    const liveReplicas = findLiveReplicas(topologyPool, topologyPool && maxNodesOf(topologyPool));
    const desiredNodes = findFixedCount(pool, liveReplicas);
    const desired = poolAmounts({ ...spec, desiredNodes });
    const requested = isDeleting(pool) ? granted : addAmounts(desired, occupiedAmounts(pool, desired));
    return { key: poolKey(metadata), metadata, granted, requested, clusterKey };
  });
}

function amountsOf(topologyPool: TopologyPool | undefined, spec: NodePool["spec"]): QuotaAmounts {
  if (topologyPool === undefined) return NO_AMOUNTS;
  const nodes = maxNodesOf(topologyPool);
  const { vcpus, memoryGB } = topologyPool.machineSize ?? spec;
  return { clusters: 0, nodePools: 1, nodes, vcpus: nodes * vcpus, memoryGB: nodes * memoryGB };
}

function maxNodesOf({ scale }: TopologyPool): number {
  return scale.kind === "fixed" ? scale.nodes : scale.maxNodes;
}

/** The key of a pool's request: a pool and a cluster may have the same name. */
export function poolKey({ namespace, name }: ObjectMeta): string {
  return `pool ${namespace}/${name}`;
}

/** What one object uses of the quotas, by what Cluster API was given for it and has, and what its specification requests. */
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
export function findOverQuota(
  limits: QuotaAmounts,
  clusters: readonly QuotaRequest[],
  pools: readonly QuotaRequest[],
): ReadonlyMap<string, Shortfall[]> {
  let used = [...clusters, ...pools].reduce((sum, { granted }) => addAmounts(sum, granted), NO_AMOUNTS);
  const overQuota = new Map<string, Shortfall[]>();
  const known = new Set(clusters.map(({ key }) => key));
  for (const { key, clusterKey, granted, requested } of [...byAge(clusters), ...byAge(pools)]) {
    if (clusterKey !== undefined && (!known.has(clusterKey) || overQuota.has(clusterKey))) continue;
    const growth = growthOf(granted, requested);
    if (!isGrowth(growth)) continue;
    const shortfalls = findShortfalls(limits, used, growth);
    if (shortfalls.length > 0) overQuota.set(key, shortfalls);
    else used = addAmounts(used, growth);
  }
  return overQuota;
}

function byAge(requests: readonly QuotaRequest[]): QuotaRequest[] {
  return requests.toSorted((left, right) => compareAge(left.metadata, right.metadata));
}

import type { Cluster } from "../../shared/crd/cluster.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { CLUSTER_AMOUNTS, NO_AMOUNTS, poolAmounts, type QuotaAmounts } from "../../shared/crd/quota.ts";
import type { KubeObject, ObjectMeta } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Store } from "../../shared/kube/store.ts";
import { type GrantedPool, readGrantedPools } from "../engine/granted-pool.ts";
import type { EngineCluster } from "../engine/kinds.ts";
import type { QuotaWish } from "./judge.ts";

/** The caches in which an organization's use is found. */
export interface QuotaCaches {
  clusters: Store<Cluster>;
  nodePools: Store<NodePool>;
  engineClusters: Store<EngineCluster>;
}

/** What a cluster has and wants. */
export function wishOfCluster({ engineClusters }: QuotaCaches, cluster: Cluster): QuotaWish {
  const key = objectKey(cluster);
  const had = engineClusters.get(key) === undefined ? NO_AMOUNTS : CLUSTER_AMOUNTS;
  return { key, age: ageOf(cluster.metadata), had, wanted: isLeaving(cluster) ? had : CLUSTER_AMOUNTS };
}

/** What pools have, by the live topologies of their clusters, and want. One that is being deleted wants no more than it has. */
export function wishesOfPools({ engineClusters }: QuotaCaches, pools: readonly NodePool[]): QuotaWish[] {
  const grantedByCluster = new Map<string, ReadonlyMap<string, GrantedPool>>();
  return pools.map((pool) => {
    const { metadata, spec } = pool;
    const within = toKey(metadata.namespace, spec.clusterName);
    const known = grantedByCluster.get(within) ?? readGrantedPools(engineClusters.get(within));
    grantedByCluster.set(within, known);
    const had = amountsOf(known.get(metadata.name), spec);
    const wanted = isLeaving(pool) ? had : poolAmounts(spec);
    return { key: poolKey(metadata), age: ageOf(metadata), had, wanted, within };
  });
}

function amountsOf(granted: GrantedPool | undefined, spec: NodePool["spec"]): QuotaAmounts {
  if (granted === undefined) return NO_AMOUNTS;
  const nodes = granted.size.kind === "fixed" ? granted.size.nodes : granted.size.maxNodes;
  const { vcpus, memoryGB } = granted.machine ?? spec;
  return { clusters: 0, nodePools: 1, nodes, vcpus: nodes * vcpus, memoryGB: nodes * memoryGB };
}

function isLeaving({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** A pool and a cluster may have one name. */
export function poolKey({ namespace, name }: ObjectMeta): string {
  return `pool ${namespace}/${name}`;
}

function ageOf({ creationTimestamp, uid }: ObjectMeta): string {
  return `${creationTimestamp} ${uid}`;
}

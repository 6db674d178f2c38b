import type { Fault } from "../../shared/controller/conditions.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { ANNOTATION_QUOTAS } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import {
  CLUSTER_AMOUNTS,
  describeShortfalls,
  growthOf,
  isGrowth,
  NO_AMOUNTS,
  parseLimits,
  poolAmounts,
  type QuotaAmounts,
  type Shortfall,
} from "../../shared/crd/quota.ts";
import type { Namespace } from "../../shared/kube/core-kinds.ts";
import type { KubeObject, ObjectMeta } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { Store } from "../../shared/kube/store.ts";
import { type GrantedPool, readGrantedPools } from "../engine/granted-pool.ts";
import type { EngineCluster } from "../engine/kinds.ts";
import { INDEX_NAMESPACE } from "../indexes.ts";
import { judgeWishes, type QuotaWish } from "./judge.ts";

/** The caches in which an organization's use is found. */
export interface QuotaCaches {
  namespaces: Store<Namespace>;
  clusters: Store<Cluster>;
  nodePools: Store<NodePool>;
  engineClusters: Store<EngineCluster>;
}

const REASON = "QuotaExceeded";
const HELD_BACK = new Set([REASON, "DuplicateName"]);

/**
 * What the organization's quotas hold back of one cluster and its pools: by the name of the pool, and for the cluster
 * itself. Nothing while none of them grows, so that a fleet at rest costs nothing.
 */
export function findClusterOverQuota(
  caches: QuotaCaches,
  cluster: Cluster,
  pools: readonly NodePool[],
): { cluster: Fault | undefined; pools: ReadonlyMap<string, Fault> } {
  const own = [wishOfCluster(caches, cluster), ...wishesOfPools(caches, pools)];
  const refused = own.some(grows) ? judgeNamespace(caches, cluster.metadata.namespace) : NOTHING;
  const faults = pools.flatMap(({ metadata }) => {
    const fault = toFault(refused.get(poolKey(metadata)));
    return fault === undefined ? [] : [[metadata.name, fault] as const];
  });
  return { cluster: toFault(refused.get(objectKey(cluster))), pools: new Map(faults) };
}

/** Why the organization's quotas hold back one pool; undefined = they do not. */
export function findPoolOverQuota(caches: QuotaCaches, pool: NodePool): Fault | undefined {
  if (!wishesOfPools(caches, [pool]).some(grows)) return undefined;
  return toFault(judgeNamespace(caches, pool.metadata.namespace).get(poolKey(pool.metadata)));
}

/** An index of what quotas or a taken name hold back, by namespace: to be looked at again when something is freed. */
export function indexHeldBack({
  metadata,
  status,
}: KubeObject & Pick<Cluster | NodePool, "status">): string[] {
  const stalled = status?.conditions?.find(({ type }) => type === "Stalled");
  return stalled?.status === "True" && HELD_BACK.has(stalled.reason) ? [metadata.namespace ?? ""] : [];
}

const NOTHING: ReadonlyMap<string, Shortfall[]> = new Map();

function judgeNamespace(caches: QuotaCaches, namespace = ""): ReadonlyMap<string, Shortfall[]> {
  const limits = parseLimits(caches.namespaces.get(namespace)?.metadata.annotations?.[ANNOTATION_QUOTAS]);
  if (limits === undefined) return NOTHING;
  const clusters = caches.clusters.byIndex(INDEX_NAMESPACE, namespace);
  const pools = caches.nodePools.byIndex(INDEX_NAMESPACE, namespace);
  return judgeWishes(
    limits,
    clusters.map((cluster) => wishOfCluster(caches, cluster)),
    wishesOfPools(caches, pools),
  );
}

function wishOfCluster({ engineClusters }: QuotaCaches, cluster: Cluster): QuotaWish {
  const key = objectKey(cluster);
  const had = engineClusters.get(key) === undefined ? NO_AMOUNTS : CLUSTER_AMOUNTS;
  return { key, age: ageOf(cluster.metadata), had, wanted: isLeaving(cluster) ? had : CLUSTER_AMOUNTS };
}

function wishesOfPools({ engineClusters }: QuotaCaches, pools: readonly NodePool[]): QuotaWish[] {
  const grantedByCluster = new Map<string, ReadonlyMap<string, GrantedPool>>();
  return pools.map((pool) => {
    const { metadata, spec } = pool;
    const within = `${metadata.namespace}/${spec.clusterName}`;
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

function grows({ had, wanted }: QuotaWish): boolean {
  return isGrowth(growthOf(had, wanted));
}

function toFault(shortfalls: readonly Shortfall[] | undefined): Fault | undefined {
  return shortfalls && { reason: REASON, message: describeShortfalls(shortfalls) };
}

function isLeaving({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** A pool and a cluster may have one name. */
function poolKey({ namespace, name }: ObjectMeta): string {
  return `pool ${namespace}/${name}`;
}

function ageOf({ creationTimestamp, uid }: ObjectMeta): string {
  return `${creationTimestamp} ${uid}`;
}

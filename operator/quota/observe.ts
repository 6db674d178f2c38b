import type { Fault } from "../../shared/controller/conditions.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { ANNOTATION_QUOTAS } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import {
  describeShortfalls,
  growthOf,
  isGrowth,
  parseLimits,
  QUOTA_NAMES,
  type QuotaAmounts,
  type Shortfall,
} from "../../shared/crd/quota.ts";
import type { Namespace } from "../../shared/kube/core-kinds.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { Store } from "../../shared/kube/store.ts";
import { INDEX_NAMESPACE } from "../indexes.ts";
import { judgeWishes, type QuotaWish } from "./judge.ts";
import { poolKey, type QuotaCaches, wishesOfPools, wishOfCluster } from "./wishes.ts";

type JudgedCaches = QuotaCaches & {
  namespaces: Store<Namespace>;
  /** What all of a namespace would count if everything in it were given. */
  countMost(namespace: string): QuotaAmounts;
};

const REASON = "QuotaExceeded";
const HELD_BACK = new Set([REASON, "DuplicateName"]);

/**
 * What the organization's quotas hold back of one cluster and its pools: by the name of the pool, and for the cluster
 * itself. Nothing while none of them grows, so that a fleet at rest costs nothing.
 */
export function findClusterOverQuota(
  caches: JudgedCaches,
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
export function findPoolOverQuota(caches: JudgedCaches, pool: NodePool): Fault | undefined {
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

function judgeNamespace(caches: JudgedCaches, namespace = ""): ReadonlyMap<string, Shortfall[]> {
  const limits = parseLimits(caches.namespaces.get(namespace)?.metadata.annotations?.[ANNOTATION_QUOTAS]);
  if (limits === undefined) return NOTHING;
  const most = caches.countMost(namespace);
  if (QUOTA_NAMES.every((name) => most[name] <= limits[name])) return NOTHING;
  const clusters = caches.clusters.byIndex(INDEX_NAMESPACE, namespace);
  const pools = caches.nodePools.byIndex(INDEX_NAMESPACE, namespace);
  return judgeWishes(
    limits,
    clusters.map((cluster) => wishOfCluster(caches, cluster)),
    wishesOfPools(caches, pools),
  );
}

function grows({ had, wanted }: QuotaWish): boolean {
  return isGrowth(growthOf(had, wanted));
}

function toFault(shortfalls: readonly Shortfall[] | undefined): Fault | undefined {
  return shortfalls && { reason: REASON, message: describeShortfalls(shortfalls) };
}

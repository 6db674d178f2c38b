import type { Problem } from "../../shared/controller/conditions.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { ANNOTATION_QUOTAS } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import {
  describeShortfalls,
  growthOf,
  isGrowth,
  parseLimits,
  QUOTA_NAMES,
  type Shortfall,
} from "../../shared/crd/quota.ts";
import type { Namespace } from "../../shared/kube/core-kinds.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { Store } from "../../shared/kube/store.ts";
import { isNewSpec } from "../caches.ts";
import {
  poolKey,
  type QuotaCaches,
  type QuotaRequest,
  type QuotaUsage,
  requestOfCluster,
  requestsOfPools,
} from "./usage.ts";

type QuotaCheckCaches = QuotaCaches &
  Pick<QuotaUsage, "maximumUsage" | "overQuota"> & { namespaces: Store<Namespace> };

const REASON = "QuotaExceeded";
const BLOCKING_REASONS = new Set([REASON, "DuplicateName"]);

/**
 * Why the organization's quotas block one cluster, and its pools by name. Checked only while one of them requests growth,
 * so that a fleet at rest costs nothing.
 */
export function findClusterOverQuota(
  caches: QuotaCheckCaches,
  cluster: Cluster,
  pools: readonly NodePool[],
): { cluster: Problem | undefined; pools: ReadonlyMap<string, Problem> } {
  const own = [requestOfCluster(caches, cluster), ...requestsOfPools(caches, pools)];
  const overQuota = own.some(grows) ? checkNamespace(caches, cluster.metadata.namespace) : NOTHING;
  const problems = pools.flatMap(({ metadata }) => {
    const problem = toProblem(overQuota.get(poolKey(metadata)));
    return problem === undefined ? [] : [[metadata.name, problem] as const];
  });
  return { cluster: toProblem(overQuota.get(objectKey(cluster))), pools: new Map(problems) };
}

/** Why the organization's quotas block one pool; undefined = they do not. */
export function findPoolOverQuota(caches: QuotaCheckCaches, pool: NodePool): Problem | undefined {
  if (!requestsOfPools(caches, [pool]).some(grows)) return undefined;
  return toProblem(checkNamespace(caches, pool.metadata.namespace).get(poolKey(pool.metadata)));
}

/** Indexes what a quota or a duplicate name blocks by namespace: it is reconciled again when something is freed. */
export function indexBlocked({
  metadata,
  status,
}: KubeObject & Pick<Cluster | NodePool, "status">): string[] {
  const stalled = status?.conditions?.find(({ type }) => type === "Stalled");
  return stalled?.status === "True" && BLOCKING_REASONS.has(stalled.reason) ? [metadata.namespace ?? ""] : [];
}

/** Whether a change may free a quota or a name: another specification, or fewer machines. */
export function mayUnblock(change: Change<KubeObject & { status?: NodePool["status"] }>): boolean {
  const countMachines = (object = change.object) => object.status?.machines?.length ?? 0;
  return isNewSpec(change) || countMachines() < countMachines(change.previous);
}

const NOTHING: ReadonlyMap<string, Shortfall[]> = new Map();

function checkNamespace(caches: QuotaCheckCaches, namespace = ""): ReadonlyMap<string, Shortfall[]> {
  const limits = parseLimits(caches.namespaces.get(namespace)?.metadata.annotations?.[ANNOTATION_QUOTAS]);
  if (limits === undefined) return NOTHING;
  const most = caches.maximumUsage(namespace);
  if (QUOTA_NAMES.every((name) => most[name] <= limits[name])) return NOTHING;
  return caches.overQuota(namespace, limits);
}

function grows({ granted, requested }: QuotaRequest): boolean {
  return isGrowth(growthOf(granted, requested));
}

function toProblem(shortfalls: readonly Shortfall[] | undefined): Problem | undefined {
  return shortfalls && { reason: REASON, message: describeShortfalls(shortfalls) };
}

import type { Fault } from "../../shared/controller/conditions.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { createId } from "../../shared/id.ts";
import type { VersionCatalogue } from "../../shared/kubernetes-version.ts";
import type { Caches } from "../caches.ts";
import { type ClassCapabilities, readClusterClass } from "../engine/cluster-class.ts";
import { type EngineState, readEngineCluster } from "../engine/cluster-state.ts";
import type { EngineCluster } from "../engine/kinds.ts";
import { type EngineMachine, type EnginePoolState, readMachine, readPool } from "../engine/pool-state.ts";
import { findOlderTwin, findOrganization, type Organization } from "../identity.ts";
import { INDEX_CLUSTER, INDEX_CLUSTER_AND_POOL, INDEX_LOCK_OWNER } from "../indexes.ts";
import { findNamesake } from "../namesake.ts";
import type { PoolDefaults } from "../node-pool/children.ts";
import { findClusterOverQuota } from "../quota/observe.ts";
import type { SubnetRange } from "../subnets/allocate.ts";
import { compareLocks, readLock, type SubnetLock } from "../subnets/lock.ts";
import type { ProbeResult } from "./probe.ts";

/** What a plan means to the engine. */
export interface PlanMapping {
  class: string;
  namespace: string;
  controlPlaneReplicas: number;
}

export interface ClusterSettings {
  platformNamespace: string;
  plans: Readonly<Record<string, PlanMapping>>;
  subnetRange: SubnetRange;
  /** Networks that always reach every API endpoint. */
  platformCIDRs: readonly string[];
  poolDefaults: PoolDefaults;
  degradedAfterSeconds: number;
  nodeDegradedAfterSeconds: number;
}

/** A pool with what the engine made of it. */
export interface ObservedClusterPool {
  pool: NodePool;
  engine: EnginePoolState | undefined;
  /** The engine is still taking away what had this name before. */
  leaving: boolean;
  /** An older pool with the same id: this one is a copy, and gets no machines. */
  olderTwin: string | undefined;
  /** A quota or an older namesake holds it back: it stays as the engine has it, or out of it. */
  heldBack: boolean;
  machines: readonly EngineMachine[];
}

/** How the engine answered when it was last given the plan of this very reconcile. */
export interface ApplyFailure {
  /** `refused`: it will not take it as it is; `unavailable`: the same may pass later. */
  kind: "refused" | "unavailable";
  message: string;
  /** The error as it came. */
  cause?: unknown;
}

/** All that is known about one cluster when it is reconciled: plain data, no client. */
export interface ObservedCluster {
  cluster: Cluster;
  organization: Organization;
  /** An older cluster with the same id. */
  olderTwin: string | undefined;
  /** Why there may be no such cluster: a quota, or an older namesake; undefined = there may. */
  heldBack: Fault | undefined;
  /** The id that the cluster gets when it has none. */
  candidateId: string;
  pools: readonly ObservedClusterPool[];
  engine: { object: EngineCluster; state: EngineState } | undefined;
  classes: ClassLookup;
  catalogue: VersionCatalogue;
  /** This cluster's subnet; while it has none, those in use. */
  locks: { own: SubnetLock | undefined; taken: ReadonlySet<string> };
  /** The last word of the endpoint; undefined = not asked yet. */
  probe: ProbeResult | undefined;
  applyFailure: ApplyFailure | undefined;
  /** Why the engine refused the next version, just now; then the rest is applied without it. */
  upgradeRefusal: string | undefined;
  settings: ClusterSettings;
}

/** What the classes can carry, by "namespace/name". */
export type ClassLookup = ReadonlyMap<string, ClassCapabilities>;

/** Gathers a cluster from the caches; undefined = it is gone. */
export function observeCluster(
  caches: Caches,
  settings: ClusterSettings,
  probe: ProbeResult | undefined,
  key: string,
): ObservedCluster | undefined {
  const cluster = caches.clusters.get(key);
  if (cluster === undefined) return undefined;
  const engineCluster = caches.engineClusters.get(key);
  const pools = caches.nodePools.byIndex(INDEX_CLUSTER, key);
  const overQuota = findClusterOverQuota(caches, cluster, pools);
  const state = engineCluster && readEngineCluster(engineCluster);
  const isHeldBack = (pool: NodePool) =>
    overQuota.pools.has(pool.metadata.name) ||
    (state?.poolNames.includes(pool.metadata.name) !== true &&
      findNamesake(caches.nodePools, pool) !== undefined);
  return {
    cluster,
    organization: findOrganization(caches.namespaces, cluster.metadata.namespace),
    olderTwin: findOlderTwin(caches.clusters, cluster.metadata),
    heldBack: state === undefined ? (findNamesake(caches.clusters, cluster) ?? overQuota.cluster) : undefined,
    candidateId: createId(),
    pools: pools
      .map((pool) => observePool(caches, key, pool, isHeldBack(pool)))
      .sort((left, right) => (left.pool.metadata.name < right.pool.metadata.name ? -1 : 1)),
    engine: engineCluster && state && { object: engineCluster, state },
    classes: readClasses(caches),
    catalogue: caches.readCatalogue(),
    locks: observeLocks(caches, cluster.metadata.labels?.[LABEL_ID], cluster.status?.workerSubnet),
    probe,
    applyFailure: undefined,
    upgradeRefusal: undefined,
    settings,
  };
}

function observePool(
  caches: Caches,
  clusterKey: string,
  pool: NodePool,
  heldBack: boolean,
): ObservedClusterPool {
  const poolKey = `${clusterKey}/${pool.metadata.name}`;
  const [deployment] = caches.machineDeployments.byIndex(INDEX_CLUSTER_AND_POOL, poolKey);
  return {
    pool,
    engine: deployment && readPool(deployment),
    leaving: deployment?.metadata.deletionTimestamp !== undefined,
    olderTwin: findOlderTwin(caches.nodePools, pool.metadata),
    heldBack,
    machines: caches.machines.byIndex(INDEX_CLUSTER_AND_POOL, poolKey).map(readMachine),
  };
}

function readClasses(caches: Caches): ClassLookup {
  return new Map(
    caches.clusterClasses.list().map((clusterClass) => {
      const { namespace, name } = clusterClass.metadata;
      return [`${namespace}/${name}`, readClusterClass(clusterClass)] as const;
    }),
  );
}

/**
 * Two operators that met on one cluster may have taken two subnets for it. Then its status decides, and before there is
 * one the older lock; the other is swept away later. The subnets of others matter only to a cluster that has none.
 */
function observeLocks(
  caches: Caches,
  clusterId: string | undefined,
  known: string | undefined,
): ObservedCluster["locks"] {
  const { subnetLocks } = caches;
  const objects = clusterId === undefined ? [] : subnetLocks.byIndex(INDEX_LOCK_OWNER, clusterId);
  const held = objects.flatMap((configMap) => readLock(configMap) ?? []).sort(compareLocks);
  const own = held.find((lock) => lock.subnet === known) ?? held[0];
  if (own !== undefined) return { own, taken: new Set([own.subnet]) };
  const locks = subnetLocks.list().flatMap((other) => readLock(other) ?? []);
  return { own: undefined, taken: new Set(locks.map((lock) => lock.subnet)) };
}

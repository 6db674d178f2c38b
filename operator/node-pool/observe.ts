import type { Cluster } from "../../shared/crd/cluster.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { apiVersionOf, type OwnerReference } from "../../shared/kube/kind.ts";
import type { Caches } from "../caches.ts";
import { type EngineState, readEngineCluster } from "../engine/cluster-state.ts";
import { type EngineMachine, type EnginePoolState, readMachine, readPool } from "../engine/pool-state.ts";
import { findOlderTwin, findOrganization, newId, type Organization } from "../identity.ts";
import { INDEX_CLUSTER_AND_POOL } from "../indexes.ts";

/** All that is known about one pool when it is reconciled: plain data, no client. */
export interface ObservedPool {
  pool: NodePool;
  organization: Organization;
  /** An older pool with the same id. */
  olderTwin: string | undefined;
  /** The id that the pool gets when it has none. */
  candidateId: string;
  cluster: ObservedOwner | undefined;
  /** Undefined = the engine has made nothing for this pool, or all of it is gone. */
  engine: EnginePoolState | undefined;
  machines: readonly EngineMachine[];
  /** The engine knows that the pool shall not be, or has no such cluster at all. */
  leftTopology: boolean;
  nodeDegradedAfterSeconds: number;
}

/** The cluster of a pool, as far as the pool is concerned. */
export interface ObservedOwner {
  reference: OwnerReference;
  id: string | undefined;
  deleting: boolean;
  controlPlaneInitialized: boolean;
  /** What the engine is asked to run, no `v`. */
  version: string | undefined;
  upgrading: boolean;
}

export interface PoolSettings {
  nodeDegradedAfterSeconds: number;
}

/** Gathers a pool from the caches; undefined = it is gone. */
export function observePool(
  caches: Caches,
  settings: PoolSettings,
  key: string,
  now: Date,
): ObservedPool | undefined {
  const pool = caches.nodePools.get(key);
  if (pool === undefined) return undefined;
  const { namespace = "", name } = pool.metadata;
  const clusterKey = `${namespace}/${pool.spec.clusterName}`;
  const engineCluster = caches.engineClusters.get(clusterKey);
  const state = engineCluster && readEngineCluster(engineCluster);
  const poolKey = `${clusterKey}/${name}`;
  const [deployment] = caches.machineDeployments.byIndex(INDEX_CLUSTER_AND_POOL, poolKey);
  return {
    pool,
    organization: findOrganization(caches.namespaces, namespace),
    olderTwin: findOlderTwin(caches.nodePools, pool.metadata),
    candidateId: newId(now),
    cluster: observeOwner(caches.clusters.get(clusterKey), state),
    engine: deployment && readPool(deployment),
    machines: caches.machines
      .byIndex(INDEX_CLUSTER_AND_POOL, poolKey)
      .map(readMachine)
      .sort((left, right) => (left.name < right.name ? -1 : 1)),
    leftTopology: state === undefined || (state.observed && !state.poolNames.includes(name)),
    nodeDegradedAfterSeconds: settings.nodeDegradedAfterSeconds,
  };
}

function observeOwner(
  cluster: Cluster | undefined,
  engine: EngineState | undefined,
): ObservedOwner | undefined {
  const uid = cluster?.metadata.uid;
  if (cluster === undefined || uid === undefined) return undefined;
  return {
    reference: {
      apiVersion: apiVersionOf(clusterKind),
      kind: clusterKind.kind,
      name: cluster.metadata.name,
      uid,
      controller: true,
    },
    id: cluster.metadata.labels?.[LABEL_ID],
    deleting: cluster.metadata.deletionTimestamp !== undefined,
    controlPlaneInitialized: engine?.controlPlaneInitialized ?? false,
    version: engine?.version,
    upgrading:
      cluster.status?.conditions?.some((it) => it.type === "Upgrading" && it.status === "True") ?? false,
  };
}

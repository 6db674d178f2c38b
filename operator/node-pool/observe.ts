import { type Fault, findCondition } from "../../shared/controller/conditions.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { createId } from "../../shared/id.ts";
import { nameAutoscaler } from "../autoscaler/children.ts";
import type { Caches } from "../caches.ts";
import { type EngineState, readEngineCluster } from "../engine/cluster-state.ts";
import { type EngineMachine, type EnginePoolState, readMachine, readPool } from "../engine/pool-state.ts";
import { findOlderTwin, findOrganization, type Organization } from "../identity.ts";
import { INDEX_CLUSTER_AND_POOL } from "../indexes.ts";
import { findNamesake } from "../namesake.ts";
import { findPoolOverQuota } from "../quota/observe.ts";

/** All that is known about one pool when it is reconciled: plain data, no client. */
export interface ObservedPool {
  pool: NodePool;
  organization: Organization;
  /** An older pool with the same id. */
  olderTwin: string | undefined;
  /** Why it may not become what its owner asks for: a quota, or an older namesake; undefined = it may. */
  heldBack: Fault | undefined;
  /** The id that the pool gets when it has none. */
  candidateId: string;
  cluster: ObservedOwner | undefined;
  /** Undefined = the engine has made nothing for this pool, or all of it is gone. */
  engine: EnginePoolState | undefined;
  machines: readonly EngineMachine[];
  /** The engine knows that the pool shall not be, or has no such cluster at all. */
  leftTopology: boolean;
  /** The engine has no such cluster, or has it no more. */
  engineClusterGone: boolean;
  /**
   * Machines (by uid) that vanished while nobody looked, and that the engine's Events say were replaced for their health.
   */
  missedMarks: ReadonlySet<string>;
  autoscaler: ObservedAutoscaler;
  nodeDegradedAfterSeconds: number;
  syncedNodeLabels: RegExp;
}

/** The autoscaler of a pool's cluster. */
export interface ObservedAutoscaler {
  /** The platform has an image for it. */
  configured: boolean;
  /** Its Deployment; undefined = not made yet. */
  deployment: { available: { status: string; message?: string | undefined } | undefined } | undefined;
}

/** The cluster of a pool, as far as the pool is concerned. */
export interface ObservedOwner {
  id: string | undefined;
  deleting: boolean;
  controlPlaneInitialized: boolean;
  /** What the engine is asked to run, no `v`. */
  version: string | undefined;
  upgrading: boolean;
  /** Why it cannot go on until somebody helps; undefined = it can. */
  fault: Fault | undefined;
}

export interface PoolSettings {
  nodeDegradedAfterSeconds: number;
  autoscalerImage: string | undefined;
  /** The keys of labels that the engine carries from a pool to its nodes. */
  syncedNodeLabels: RegExp;
}

/** Gathers a pool from the caches; undefined = it is gone. `firstLook`: this process has not looked at it before. */
export function observePool(
  caches: Caches,
  settings: PoolSettings,
  key: string,
  firstLook: boolean,
): ObservedPool | undefined {
  const pool = caches.nodePools.get(key);
  if (pool === undefined) return undefined;
  const { namespace = "", name } = pool.metadata;
  const clusterKey = `${namespace}/${pool.spec.clusterName}`;
  const engineCluster = caches.engineClusters.get(clusterKey);
  const state = engineCluster && readEngineCluster(engineCluster);
  const isKnown = state?.poolNames.includes(name) === true;
  const poolKey = `${clusterKey}/${name}`;
  const deployments = caches.machineDeployments.byIndex(INDEX_CLUSTER_AND_POOL, poolKey);
  const deployment =
    deployments.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? deployments[0];
  const machines = caches.machines
    .byIndex(INDEX_CLUSTER_AND_POOL, poolKey)
    .map(readMachine)
    .sort((left, right) => (left.name < right.name ? -1 : 1));
  return {
    pool,
    organization: findOrganization(caches.namespaces, namespace),
    olderTwin: findOlderTwin(caches.nodePools, pool.metadata),
    heldBack: isKnown
      ? findPoolOverQuota(caches, pool)
      : (findNamesake(caches.nodePools, pool) ?? findPoolOverQuota(caches, pool)),
    candidateId: createId(),
    cluster: observeOwner(caches.clusters.get(clusterKey), state),
    engine: deployment && readPool(deployment),
    machines,
    leftTopology: state === undefined || (state.observed && !state.poolNames.includes(name)),
    engineClusterGone: state === undefined,
    missedMarks: firstLook ? findMissedMarks(caches, pool, machines) : new Set(),
    autoscaler: observeAutoscaler(caches, settings, clusterKey),
    nodeDegradedAfterSeconds: settings.nodeDegradedAfterSeconds,
    syncedNodeLabels: settings.syncedNodeLabels,
  };
}

function observeAutoscaler(caches: Caches, settings: PoolSettings, clusterKey: string): ObservedAutoscaler {
  const deployment = caches.deployments.get(nameAutoscaler(clusterKey));
  const available = deployment?.status?.conditions?.find(({ type }) => type === "Available");
  return {
    configured: settings.autoscalerImage !== undefined,
    deployment: deployment && { available: available && { ...available } },
  };
}

/**
 * The mark of a remediation stands for seconds; of one that came and went while nobody looked, an Event is left. A Machine
 * that its MachineSet deleted on purpose (a rollout, a scale-down) is named in another Event.
 */
function findMissedMarks(caches: Caches, pool: NodePool, machines: readonly EngineMachine[]): Set<string> {
  const gone = (pool.status?.machines ?? []).filter(({ uid }) => !machines.some((it) => it.uid === uid));
  if (gone.length === 0) return new Set();
  const events = caches.events
    .list()
    .filter(({ metadata }) => metadata.namespace === pool.metadata.namespace);
  const isMarked = (uid: string) =>
    events.some((event) => event.reason === "MachineMarkedUnhealthy" && event.regarding?.uid === uid);
  const isDeleted = (name: string) =>
    events.some(
      ({ reason, regarding, note }) =>
        reason === "SuccessfulDelete" && regarding?.kind === "MachineSet" && note?.includes(`"${name}"`),
    );
  const marked = gone.filter(({ uid, name }) => isMarked(uid) && !isDeleted(name));
  return new Set(marked.map(({ uid }) => uid));
}

function observeOwner(
  cluster: Cluster | undefined,
  engine: EngineState | undefined,
): ObservedOwner | undefined {
  if (cluster === undefined) return undefined;
  const stalled = findCondition(cluster.status?.conditions, "Stalled");
  return {
    id: cluster.metadata.labels?.[LABEL_ID],
    deleting: cluster.metadata.deletionTimestamp !== undefined,
    controlPlaneInitialized: engine?.controlPlaneInitialized ?? false,
    version: engine?.version,
    upgrading: findCondition(cluster.status?.conditions, "Upgrading")?.status === "True",
    fault: stalled?.status === "True" ? { reason: stalled.reason, message: stalled.message } : undefined,
  };
}

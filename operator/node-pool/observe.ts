import { isDeepStrictEqual } from "node:util";
import { findCondition, type Problem } from "../../shared/controller/conditions.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { truncateStatusMessage, UNAPPLIED_POOL_PREFIX } from "../../shared/crd/conditions.ts";
import { idOf } from "../../shared/crd/identity.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { findNamespaceOrganization, type Organization } from "../../shared/crd/organization.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import { createId } from "../../shared/program/id.ts";
import { nameAutoscaler } from "../autoscaler/children.ts";
import type { Caches } from "../caches.ts";
import type { CapiState } from "../capi/cluster-state.ts";
import { isDeletedBySet, isMarkedUnhealthy } from "../capi/events.ts";
import type { MachineDeploymentState, MachineState } from "../capi/pool-state.ts";
import { readMachineDeployment, readMachines } from "../capi/pool-state.ts";
import { type PoolDefaults, readTopologyPools, type TopologyPool } from "../capi/worker-pool.ts";
import { type NamespaceState, observeNamespace } from "../expiry/expiry.ts";
import { displayNameOf, findDuplicateName, findOlderDuplicate, isSuspended } from "../identity/identity.ts";
import { findCapi, findPoolObjects } from "../identity/ownership.ts";
import { INDEX_NAMESPACE } from "../indexes.ts";
import { findPoolOverQuota } from "../quota/observe.ts";

/** All that is known about one pool when it is reconciled: plain data, no client. */
export interface ObservedPool {
  pool: NodePool;
  organization: Organization;
  namespace: NamespaceState;
  /** An older pool with the same id. */
  olderDuplicate: string | undefined;
  /** Why it may not be as specified: a quota, a duplicate name or, once reconcilePool adds it, its end date; undefined = it may. */
  blocker: Problem | undefined;
  /** The id that the pool gets when it has none. */
  candidateId: string;
  cluster: ClusterOfPool | undefined;
  /** Why its cluster does not apply it as it is specified; undefined = it does, or is itself kept from it. */
  unapplied: Problem | undefined;
  /** Undefined = Cluster API has created nothing for this pool, or has deleted it. */
  machineDeployment: MachineDeploymentState | undefined;
  /** Its entry in the topology of its cluster; undefined = there is none. */
  topologyPool: TopologyPool | undefined;
  machines: readonly MachineState[];
  /** Cluster API has observed a topology without the pool, or has no such cluster of ours. */
  isOutsideTopology: boolean;
  /** Cluster API has no such cluster of ours. */
  lacksCapiCluster: boolean;
  /** Machines (by uid) that are deleted, and that Events report as replaced for their health. */
  missedRemediations: ReadonlySet<string>;
  autoscaler: PoolAutoscaler;
  nodeDegradedAfterSeconds: number;
  /** How long a machine of its class may take until its node has joined. */
  nodeStartupTimeoutSeconds: number;
  reportWaitAfterSeconds: number;
  poolDefaults: PoolDefaults;
  syncedNodeLabels: RegExp;
}

/** The autoscaler of a pool's cluster. */
export interface PoolAutoscaler {
  /** The platform has an image for it. */
  configured: boolean;
  /** Its Deployment; undefined = not created yet. */
  deployment: { available: { status: string; message?: string | undefined } | undefined } | undefined;
}

/** The cluster of a pool, as far as the pool is concerned. */
export interface ClusterOfPool {
  /** Its display name. */
  name: string;
  id: string | undefined;
  deleting: boolean;
  suspended: boolean;
  /** Cluster API does nothing about it, by hand or for its suspension. */
  paused: boolean;
  controlPlaneInitialized: boolean;
  /** The version requested from Cluster API, no `v`. */
  topologyVersion: string | undefined;
  upgrading: boolean;
  firstReadyAt: string | undefined;
  /** Why it is stalled; undefined = it is not, or a part of it alone waits that no pool depends on. */
  problem: Problem | undefined;
}

export interface PoolSettings {
  nodeDegradedAfterSeconds: number;
  reportWaitAfterSeconds: number;
  poolDefaults: PoolDefaults;
  autoscalerImage: string | undefined;
  /** The keys of labels that Cluster API propagates from a pool to its nodes. */
  syncedNodeLabels: RegExp;
}

/** Gathers a pool from the caches; undefined = it is deleted. */
export function observePool(caches: Caches, settings: PoolSettings, key: string): ObservedPool | undefined {
  const pool = caches.nodePools.get(key);
  if (pool === undefined) return undefined;
  const { namespace = "", name } = pool.metadata;
  const clusterKey = `${namespace}/${pool.spec.clusterName}`;
  const capi = findCapi(caches, clusterKey).capi;
  const state = capi?.state;
  const isInTopology = state?.poolNames.includes(name) === true;
  const { machineDeployments: all, sets, machines: found } = findPoolObjects(caches, clusterKey, name);
  const machineDeployment = all.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? all[0];
  const machines = readMachines(found, machineDeployment, sets, caches.sizeOfTemplate).sort((left, right) =>
    left.name < right.name ? -1 : 1,
  );
  return {
    pool,
    organization: findNamespaceOrganization(caches.namespaces, namespace),
    namespace: observeNamespace(caches.namespaces, namespace),
    olderDuplicate: findOlderDuplicate(caches.nodePools, pool),
    blocker: isInTopology
      ? findPoolOverQuota(caches, pool)
      : (findDuplicateName(caches.nodePools, pool) ?? findPoolOverQuota(caches, pool)),
    candidateId: pool.status?.id ?? createId(),
    cluster: observeClusterOfPool(caches.clusters.get(clusterKey), state),
    unapplied: findUnapplied(caches.clusters.get(clusterKey), name),
    machineDeployment: machineDeployment && readMachineDeployment(machineDeployment),
    topologyPool: readTopologyPools(capi?.object).get(name),
    machines,
    isOutsideTopology: isOutsideTopology(state, name),
    lacksCapiCluster: state === undefined,
    missedRemediations: findMissedRemediations(caches, pool, machines),
    autoscaler: observeAutoscaler(caches, settings, clusterKey),
    nodeDegradedAfterSeconds: settings.nodeDegradedAfterSeconds,
    nodeStartupTimeoutSeconds: findStartupTimeout(caches, state),
    reportWaitAfterSeconds: settings.reportWaitAfterSeconds,
    poolDefaults: settings.poolDefaults,
    syncedNodeLabels: settings.syncedNodeLabels,
  };
}

/** The default of Cluster API's health checks for a class whose nodes are not replaced, or may take any time. */
function findStartupTimeout(caches: Pick<Caches, "readClasses">, state: CapiState | undefined): number {
  const { namespace, name } = state?.classRef ?? {};
  const { checks } = caches.readClasses().get(`${namespace}/${name}`)?.workerHealthCheck ?? {};
  return checks?.nodeStartupTimeoutSeconds || 600;
}

/** Whether Cluster API has observed a topology without this pool, or has no such cluster. */
export function isOutsideTopology(state: CapiState | undefined, pool: string): boolean {
  return state === undefined || (state.isGenerationObserved && !state.poolNames.includes(pool));
}

function observeAutoscaler(caches: Caches, settings: PoolSettings, clusterKey: string): PoolAutoscaler {
  const deployment = caches.deployments.get(nameAutoscaler(clusterKey));
  const available = deployment?.status?.conditions?.find(({ type }) => type === "Available");
  return {
    configured: settings.autoscalerImage !== undefined,
    deployment: deployment && { available: available && { ...available } },
  };
}

/**
 * A remediation is visible on the Machine for seconds, which a paused operator or a watch that relists misses; an
 * Event is left. A Machine that its MachineSet deleted on purpose has another Event as well, and does not count.
 */
export function findMissedRemediations(
  caches: { readonly events: Pick<Caches["events"], "byIndex"> },
  pool: NodePool,
  machines: readonly MachineState[],
): Set<string> {
  const present = new Set(machines.map(({ uid }) => uid));
  const gone = (pool.status?.machines ?? []).filter(({ uid }) => !present.has(uid));
  if (gone.length === 0) return new Set();
  const events = caches.events.byIndex(INDEX_NAMESPACE, pool.metadata.namespace ?? "");
  const remediated = gone.filter(
    ({ uid, name }) =>
      events.some((event) => isMarkedUnhealthy(event, uid)) &&
      !events.some((event) => isDeletedBySet(event, name)),
  );
  return new Set(remediated.map(({ uid }) => uid));
}

/** The cluster of a pool, by its object and what Cluster API reports; undefined = there is none. */
export function observeClusterOfPool(
  cluster: Cluster | undefined,
  state: CapiState | undefined,
): ClusterOfPool | undefined {
  if (cluster === undefined) return undefined;
  return {
    name: displayNameOf(cluster),
    id: idOf(cluster),
    deleting: cluster.metadata.deletionTimestamp !== undefined,
    suspended: isSuspended(cluster),
    paused: state?.paused ?? false,
    controlPlaneInitialized: state?.controlPlaneInitialized ?? false,
    topologyVersion: state?.topologyVersion,
    upgrading: findCondition(cluster.status?.conditions, "Upgrading")?.status === "True",
    firstReadyAt: cluster.status?.firstReadyAt,
    problem: findClusterProblem(cluster),
  };
}

/** Whether a change of a cluster is one of what its pools read: most writes of its status are none. */
export function concernsPools({ type, previous, object }: Change<Cluster>): boolean {
  if (type !== "updated" || previous === undefined || previous.metadata.uid !== object.metadata.uid)
    return true;
  const read = (cluster: Cluster) => [
    observeClusterOfPool(cluster, undefined),
    cluster.status?.unapplied?.filter(({ field }) => field.startsWith(UNAPPLIED_POOL_PREFIX)) ?? [],
  ];
  return !isDeepStrictEqual(read(previous), read(object));
}

function findUnapplied(cluster: Cluster | undefined, poolName: string): Problem | undefined {
  const field = `${UNAPPLIED_POOL_PREFIX}${poolName}`;
  return cluster?.status?.unapplied?.find((part) => part.field === field);
}

/**
 * A network policy that waits alone has the message of `NetworkPolicyApplied`, any other part that of `status.unapplied`: pools are
 * made and changed meanwhile.
 */
function findClusterProblem({ metadata, status }: Cluster): Problem | undefined {
  const stalled = findCondition(status?.conditions, "Stalled");
  const policy = findCondition(status?.conditions, "NetworkPolicyApplied");
  if (stalled?.status !== "True" || stalled.message === policy?.message) return undefined;
  // A deletion, which is another generation, does not wait for what the specification waited for.
  const isOutdated = stalled.observedGeneration !== metadata.generation;
  if (isOutdated && metadata.deletionTimestamp !== undefined) return undefined;
  const text = truncateStatusMessage(stalled.message);
  if (status?.unapplied?.some(({ message }) => message === text)) return undefined;
  return { reason: stalled.reason, message: stalled.message };
}

import type { Problem } from "../../shared/controller/conditions.ts";
import type { Step } from "../../shared/controller/plan.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { ClusterNetwork } from "../../shared/crd/cluster-network.ts";
import { idOf } from "../../shared/crd/identity.ts";
import type { VersionCatalogue } from "../../shared/crd/kubernetes-version.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { findNamespaceOrganization, type Organization } from "../../shared/crd/organization.ts";
import type { Packages } from "../../shared/crd/published-config.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { createId } from "../../shared/program/id.ts";
import type { UpgradeCheck } from "../../shared/tenant/upgrade/upgrade-check.ts";
import { type AddOnObstacles, type AddOnState, observeAddOnStates } from "../add-ons/observe.ts";
import { hasLostCa } from "../admin-kubeconfig/observe.ts";
import type { Caches } from "../caches.ts";
import type { ClassLookup } from "../capi/cluster-class.ts";
import { listLostParts } from "../capi/cluster-state.ts";
import type { InfrastructureState } from "../capi/infrastructure.ts";
import type { MachineDeploymentState, MachineState } from "../capi/pool-state.ts";
import { readMachineDeployment, readMachines } from "../capi/pool-state.ts";
import { nameCaSecret } from "../capi/secrets.ts";
import type { PoolDefaults } from "../capi/worker-pool.ts";
import { findTenantFailure, type TenantFailure } from "../cluster-access/status.ts";
import { type NamespaceState, observeNamespace } from "../expiry/expiry.ts";
import { findDuplicateName, findOlderDuplicate } from "../identity/identity.ts";
import { findCapi, findPoolObjects, type OwnCapi } from "../identity/ownership.ts";
import { INDEX_CLUSTER, INDEX_SUBNET_OWNER } from "../indexes.ts";
import { findClusterOverQuota } from "../quota/observe.ts";
import { type Allocation, compareAllocations, readAllocation } from "../subnets/allocation.ts";
import type { SubnetRange } from "../subnets/range.ts";
import type { AccessAttempts, TenantFindings } from "../tenant/tenant-findings.ts";
import { isNameTakenElsewhere } from "./namesakes.ts";
import type { ProbeResult } from "./probe.ts";

/** What `spec.plan` names: a cluster class, and what its clusters get. The terms that its clusters are billed by are its package. */
export interface ServicePlan {
  class: string;
  namespace: string;
  controlPlaneReplicas: number;
  /** Secrets of the platform's namespace that the provider wants in the Namespace of each cluster. */
  credentials?: readonly string[] | undefined;
}

/** What the operator is configured with for clusters. */
export interface ClusterSettings {
  platformNamespace: string;
  servicePlans: Readonly<Record<string, ServicePlan>>;
  subnetRange: SubnetRange;
  /** Networks that may always reach every API endpoint. While empty, no cluster may have authorized CIDRs. */
  platformCIDRs: readonly string[];
  /** Networks of new clusters that name none. */
  clusterNetwork: ClusterNetwork;
  poolDefaults: PoolDefaults;
  degradedAfterSeconds: number;
  nodeDegradedAfterSeconds: number;
  /** Shorter waits are neither in `status.message` nor an Event. */
  reportWaitAfterSeconds: number;
}

/** A pool with its objects in Cluster API. */
export interface ObservedClusterPool {
  pool: NodePool;
  machineDeployment: MachineDeploymentState | undefined;
  /** Cluster API is still deleting an earlier pool of this name. */
  capiDeleting: boolean;
  /** An older pool with the same id: this one is a duplicate, and gets no machines. */
  olderDuplicate: string | undefined;
  /** A quota or a duplicate name blocks it: it keeps the nodes and the machine size of Cluster API, or is not created. */
  blocked: boolean;
  machines: readonly MachineState[];
}

/** How applying the plan of this reconcile to Cluster API failed. */
export interface ApplyFailure {
  /** `rejected`: the specification has to change; `unavailable`: the same may succeed later. */
  kind: "rejected" | "unavailable";
  message: string;
  /** What was rejected; a patch changes nothing that a tenant specifies. */
  verb?: Step["verb"];
  /** The original error. */
  cause?: unknown;
}

/**
 * A part of its Cluster that Cluster API rejects: the taints of all pools, the size of the machines of a pool, all of a pool (by
 * the name of its object), a variable, the version, the control plane; `unknown`: Cluster
 * API did not say which.
 */
export type RejectedPart =
  | "taints"
  | "version"
  | `machine ${string}`
  | `pool ${string}`
  | `variable ${string}`
  | "control plane"
  | "unknown";

/** What is rejected, and why: in tenants' words, but of `version` and `unknown`, whose text is that of Cluster API. */
export type Rejected = ReadonlyMap<RejectedPart, string>;

export const NOTHING_REJECTED: Rejected = new Map();

/** All that is known about one cluster when it is reconciled: plain data, no client. */
export interface ObservedCluster {
  cluster: Cluster;
  organization: Organization;
  namespace: NamespaceState;
  /** An older cluster with the same id. */
  olderDuplicate: string | undefined;
  /** Why the cluster may not be created: a quota, or a duplicate name; undefined = for neither. */
  blocker: Problem | undefined;
  /** The id that the cluster gets when it has none. */
  candidateId: string;
  pools: readonly ObservedClusterPool[];
  /** Undefined = Cluster API has none, or a foreign one (`nameTaken`). */
  capi: OwnCapi | undefined;
  /** A Cluster API cluster of this name is not Marina's. */
  nameTaken: boolean;
  /** Cluster API does not know it yet, and a cluster of another Namespace has its name. */
  nameTakenElsewhere: boolean;
  /** Parts of the cluster that were there and are gone, in tenants' words; Cluster API makes none of them as they were. */
  lostParts: readonly string[];
  /** The CA of an earlier Cluster API cluster of this name is about to be garbage collected. */
  hasFormerCa: boolean;
  classes: ClassLookup;
  catalogue: VersionCatalogue;
  packages: Packages;
  /** The allocation of this cluster; while it has none, the subnets that are taken. */
  subnets: { own: Allocation | undefined; taken: ReadonlySet<string> };
  /** The last probe of the endpoint; undefined = not probed yet. */
  probe: ProbeResult | undefined;
  /** What the provider says of its object; undefined = not read. */
  infrastructure: InfrastructureState | undefined;
  /** Those of its class that select it. */
  addOns: readonly AddOnState[];
  /** Whether kubeconfigs and rights in the cluster can be issued. */
  access: ObservedAccessHealth;
  applyFailure: ApplyFailure | undefined;
  /** Why Cluster API rejected the next version, in this reconcile or not long ago; the rest is applied without it. */
  upgradeRejection: string | undefined;
  /** What Cluster API rejected, in this reconcile or not long ago: each part stays as it is there, and the rest is applied. */
  rejected: Rejected;
  /** The results of the checks of the requested upgrade; undefined = not read yet, or none is requested. */
  upgradeChecks: readonly UpgradeCheck[] | undefined;
  settings: ClusterSettings;
}

export interface ObservedAccessHealth {
  attempts: AccessAttempts;
  /** Why a ClusterAccess waits for its tenant's API server, for each that does. */
  failures: readonly TenantFailure[];
  /** What this process knows of the rights in it, and of its registration (`spec.registration`). */
  tenantFindings: TenantFindings;
}

/** What this process keeps of a cluster in memory. */
export interface ProcessState {
  probe: ProbeResult | undefined;
  accessAttempts: AccessAttempts;
  tenantFindings: TenantFindings;
  addOnObstacles: ReturnType<AddOnObstacles["find"]>;
}

/** Gathers a cluster from the caches; undefined = it is deleted. */
export function observeCluster(
  caches: Caches,
  settings: ClusterSettings,
  processState: ProcessState,
  key: string,
  now: Date,
): ObservedCluster | undefined {
  const cluster = caches.clusters.get(key);
  if (cluster === undefined) return undefined;
  const { capi, nameTaken } = findCapi(caches, key);
  const pools = caches.nodePools.byIndex(INDEX_CLUSTER, key);
  const overQuota = findClusterOverQuota(caches, cluster, pools);
  const isBlocked = (pool: NodePool) =>
    overQuota.pools.has(pool.metadata.name) ||
    (capi?.state.poolNames.includes(pool.metadata.name) !== true &&
      findDuplicateName(caches.nodePools, pool) !== undefined);
  return {
    cluster,
    organization: findNamespaceOrganization(caches.namespaces, cluster.metadata.namespace),
    namespace: observeNamespace(caches.namespaces, cluster.metadata.namespace),
    olderDuplicate: findOlderDuplicate(caches.clusters, cluster),
    blocker:
      capi === undefined ? (findDuplicateName(caches.clusters, cluster) ?? overQuota.cluster) : undefined,
    candidateId: cluster.status?.id ?? createId(),
    pools: pools
      .map((pool) => observeClusterPool(caches, key, pool, isBlocked(pool)))
      .sort((left, right) => (left.pool.metadata.name < right.pool.metadata.name ? -1 : 1)),
    capi,
    nameTaken,
    nameTakenElsewhere: capi === undefined && isNameTakenElsewhere(caches, cluster),
    lostParts: findLostParts(caches, capi, key, now),
    hasFormerCa: capi === undefined && hasOwner(caches.clusterSecrets.get(nameCaSecret(key))),
    classes: caches.readClasses(),
    catalogue: caches.readCatalogue(),
    packages: caches.readPackages(),
    subnets: observeSubnets(caches, idOf(cluster), cluster.status?.workerSubnet),
    probe: processState.probe,
    infrastructure: undefined,
    addOns: observeAddOnStates(caches, key, capi, processState.addOnObstacles),
    access: {
      attempts: processState.accessAttempts,
      failures: listTenantFailures(caches, key),
      tenantFindings: processState.tenantFindings,
    },
    applyFailure: undefined,
    upgradeRejection: undefined,
    rejected: NOTHING_REJECTED,
    upgradeChecks: undefined,
    settings,
  };
}

/** While Cluster API deletes a cluster, all of its parts go. */
function findLostParts(caches: Caches, capi: OwnCapi | undefined, key: string, now: Date): string[] {
  if (capi === undefined || capi.state.deleting) return [];
  return [...listLostParts(capi.state, now), ...(hasLostCa(caches, key) ? ["certificate authority"] : [])];
}

function listTenantFailures(caches: Caches, key: string): TenantFailure[] {
  return caches.accesses.byIndex(INDEX_CLUSTER, key).flatMap((access) => findTenantFailure(access) ?? []);
}

/** A CA that a user provides for a future cluster has no owner, and is never garbage collected. */
function hasOwner(secret: KubeObject | undefined): boolean {
  return (secret?.metadata.ownerReferences ?? []).length > 0;
}

function observeClusterPool(
  caches: Caches,
  clusterKey: string,
  pool: NodePool,
  blocked: boolean,
): ObservedClusterPool {
  const { machineDeployments, sets, machines } = findPoolObjects(caches, clusterKey, pool.metadata.name);
  const [machineDeployment] = machineDeployments;
  return {
    pool,
    machineDeployment: machineDeployment && readMachineDeployment(machineDeployment),
    capiDeleting: machineDeployment?.metadata.deletionTimestamp !== undefined,
    olderDuplicate: findOlderDuplicate(caches.nodePools, pool),
    blocked,
    machines: readMachines(machines, machineDeployment, sets, caches.sizeOfTemplate),
  };
}

/**
 * Two operators at once may have taken two subnets for one cluster. Then its status decides, and before there is one the
 * older allocation; the other is released later. The subnets of others matter only to a cluster that has none.
 */
function observeSubnets(
  caches: Caches,
  clusterId: string | undefined,
  known: string | undefined,
): ObservedCluster["subnets"] {
  const { subnetAllocations } = caches;
  const objects = clusterId === undefined ? [] : subnetAllocations.byIndex(INDEX_SUBNET_OWNER, clusterId);
  const ofCluster = objects.flatMap((configMap) => readAllocation(configMap) ?? []).sort(compareAllocations);
  const own = ofCluster.find(({ subnet }) => subnet === known) ?? ofCluster[0];
  if (own !== undefined) return { own, taken: new Set([own.subnet]) };
  const all = subnetAllocations.list().flatMap((other) => readAllocation(other) ?? []);
  return { own: undefined, taken: new Set(all.map(({ subnet }) => subnet)) };
}

import { type Plan, type Step, StepError } from "../../shared/controller/plan.ts";
import type { ClusterNetwork } from "../../shared/crd/cluster-network.ts";
import { hadNoEffect } from "../../shared/kube/errors.ts";
import { apiVersionOf, type OwnerReference } from "../../shared/kube/kind.ts";
import type { ClassCapabilities } from "./cluster-class.ts";
import {
  type CapiCluster,
  type CapiNetwork,
  type CapiVariable,
  capiClusterKind,
  type MachineDeploymentTopology,
} from "./kinds.ts";
import { composeDeletion, composePool, type DeletionTimeouts, type DesiredPool } from "./worker-pool.ts";

/** A cluster in Marina's terms, every default resolved. */
export interface DesiredCluster {
  namespace: string;
  name: string;
  owner: OwnerReference;
  labels: Record<string, string>;
  classRef: { name: string; namespace: string };
  /** `MAJOR.MINOR.PATCH`, no `v`. */
  version: string;
  controlPlaneReplicas: number;
  /** The timeouts of the machines of the control plane. */
  controlPlaneDeletionTimeouts: DeletionTimeouts;
  plan: string | undefined;
  publicEndpoint: boolean;
  /** Who may reach the API endpoint; undefined = anyone. */
  authorizedCIDRs: readonly string[] | undefined;
  apiServerRateLimit: { maxConnectionsPerSecond: number; burst: number } | undefined;
  workerSubnet: string;
  clusterNetwork: ClusterNetwork;
  pools: readonly DesiredPool[];
}

/**
 * What the class does not support of the desired state; empty = nothing. Applying less than the desired state could
 * leave the cluster more open than its owner requested, so any entry means: apply nothing.
 */
export function findUnsupported(desired: DesiredCluster, capabilities: ClassCapabilities): string[] {
  const missing = (name: string) => !capabilities.variables.has(name);
  const missingParts: string[] = [];
  if (!desired.publicEndpoint && missing("publicEndpoint")) missingParts.push("a private endpoint");
  if (desired.authorizedCIDRs !== undefined && missing("authorizedCIDRs"))
    missingParts.push("authorized CIDRs");
  if (desired.apiServerRateLimit !== undefined && missing("apiServerRateLimit")) {
    missingParts.push("a rate limit of the API server");
  }
  if (desired.pools.length > 0 && capabilities.workerClass === undefined) missingParts.push("node pools");
  return missingParts;
}

/**
 * Cluster API's Cluster, whole, for a server-side apply. Empty maps and lists are left out: Cluster API rejects them.
 * Only variables that the class declares are set.
 */
export function composeCapiCluster(desired: DesiredCluster, capabilities: ClassCapabilities): CapiCluster {
  const { workerClass } = capabilities;
  const pools: MachineDeploymentTopology[] =
    workerClass === undefined
      ? []
      : desired.pools.map((pool) => composePool(pool, workerClass, capabilities));
  const variables = composeVariables(desired, capabilities.variables);
  const clusterNetwork = composeNetwork(desired.clusterNetwork);
  return {
    apiVersion: apiVersionOf(capiClusterKind),
    kind: capiClusterKind.kind,
    metadata: {
      name: desired.name,
      namespace: desired.namespace,
      labels: desired.labels,
      ownerReferences: [desired.owner],
    },
    spec: {
      ...(clusterNetwork && { clusterNetwork }),
      topology: {
        classRef: desired.classRef,
        version: `v${desired.version}`,
        controlPlane: {
          replicas: desired.controlPlaneReplicas,
          ...(capabilities.controlPlaneMachines && {
            deletion: composeDeletion(desired.controlPlaneDeletionTimeouts),
          }),
        },
        ...(variables.length > 0 && { variables }),
        ...(pools.length > 0 && { workers: { machineDeployments: pools } }),
      },
    },
  };
}

/** Removes an entry that another manager added to the topology: a forced apply does not. */
export function planPoolEntryRemoval(cluster: CapiCluster, poolName: string): Step {
  const pools = cluster.spec?.topology?.workers?.machineDeployments ?? [];
  const path = `/spec/topology/workers/machineDeployments/${pools.findIndex((pool) => pool.name === poolName)}`;
  return {
    verb: "patch",
    kind: capiClusterKind,
    namespace: cluster.metadata.namespace ?? "",
    name: cluster.metadata.name,
    operations: [
      { op: "test", path: `${path}/name`, value: poolName },
      { op: "remove", path },
    ],
  };
}

function composeNetwork({ pods, services }: ClusterNetwork): CapiNetwork | undefined {
  if (pods === undefined && services === undefined) return undefined;
  return {
    ...(pods && { pods: { cidrBlocks: pods } }),
    ...(services && { services: { cidrBlocks: services } }),
  };
}

function composeVariables(desired: DesiredCluster, declared: ReadonlySet<string>): CapiVariable[] {
  const variables: [string, unknown][] = [
    ["plan", desired.plan],
    ["publicEndpoint", desired.publicEndpoint],
    ["authorizedCIDRs", desired.authorizedCIDRs],
    ["apiServerRateLimit", desired.apiServerRateLimit],
    ["workerSubnet", desired.workerSubnet],
  ];
  return variables
    .filter(([name, value]) => value !== undefined && declared.has(name))
    .map(([name, value]) => ({ name, value }));
}

/** kube-apiserver ends a PATCH within 34 s of its arrival (requestTimeoutUpperBound), whether or not its client still waits. */
const ENDED_WITHIN_MS = 40_000;
/** While a reconcile is under way, it is looked again this soon. */
const UNDER_WAY_MS = 500;

/**
 * What this process may still be putting into the topologies of clusters, by their keys: no uncached read shows it yet. After a
 * restart nothing is known of the process before: an apply of it that comes so late is undone by the next one.
 */
export interface TopologyWrites {
  /** A reconcile begins that may put these pools into the topology. The function returned ends it. */
  begin(key: string, pools: readonly string[]): () => void;
  /** The outcome of an apply with these pools is unknown: for 40 s it may still be made. */
  noteUnknownOutcome(key: string, pools: readonly string[]): void;
  /** For how many ms an apply of unknown outcome may still be made; undefined = there is none. */
  findUnknownOutcomeMs(key: string): number | undefined;
  /** In how many ms to ask again whether the topology may still get this pool; undefined = it may not. */
  findPoolWaitMs(key: string, pool: string): number | undefined;
}

export function createTopologyWrites(nowMs: () => number = () => performance.now()): TopologyWrites {
  const underWay = new Map<string, ReadonlySet<string>>();
  const uncertain = new Map<string, { pools: ReadonlySet<string>; untilMs: number }>();

  function findUnknownOutcome(key: string) {
    const entry = uncertain.get(key);
    const leftMs = entry === undefined ? 0 : entry.untilMs - nowMs();
    return entry === undefined || leftMs <= 0 ? undefined : { pools: entry.pools, leftMs };
  }

  return {
    begin(key, pools) {
      underWay.set(key, new Set(pools));
      return () => underWay.delete(key);
    },
    noteUnknownOutcome(key, pools) {
      for (const other of uncertain.keys())
        if (findUnknownOutcome(other) === undefined) uncertain.delete(other);
      const earlier = findUnknownOutcome(key)?.pools ?? [];
      uncertain.set(key, { pools: new Set([...earlier, ...pools]), untilMs: nowMs() + ENDED_WITHIN_MS });
    },
    findUnknownOutcomeMs: (key) => findUnknownOutcome(key)?.leftMs,
    findPoolWaitMs(key, pool) {
      if (underWay.get(key)?.has(pool)) return UNDER_WAY_MS;
      const entry = findUnknownOutcome(key);
      return entry?.pools.has(pool) ? entry.leftMs : undefined;
    },
  };
}

/** Whether this is a failed apply of the Cluster API object that may still take effect: its outcome is unknown. */
export function mayStillBeApplied(error: unknown): boolean {
  if (!(error instanceof StepError) || error.step.kind !== capiClusterKind) return false;
  return error.step.verb === "apply" && !hadNoEffect(error.cause);
}

/** The Cluster API cluster that the plan applies; undefined = none. */
export function findDesiredCapiCluster(plan: Plan<unknown>): CapiCluster | undefined {
  const step = plan.write.find(({ kind, verb }) => verb === "apply" && kind === capiClusterKind);
  return step?.verb === "apply" ? (step.object as CapiCluster) : undefined;
}

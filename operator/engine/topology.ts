import type { Step } from "../../shared/controller/plan.ts";
import { apiVersionOf, type OwnerReference } from "../../shared/kube/kind.ts";
import type { ClassCapabilities } from "./cluster-class.ts";
import { type EngineCluster, type EnginePool, type EngineVariable, engineClusterKind } from "./kinds.ts";
import { composePool, type DesiredPool } from "./worker-pool.ts";

/** A cluster in Marina's words, every default resolved. */
export interface DesiredCluster {
  namespace: string;
  name: string;
  owner: OwnerReference;
  labels: Record<string, string>;
  classRef: { name: string; namespace: string };
  /** `MAJOR.MINOR.PATCH`, no `v`. */
  version: string;
  controlPlaneReplicas: number;
  plan: string | undefined;
  publicEndpoint: boolean;
  /** All that may reach the API endpoint; undefined = anybody. */
  authorizedCIDRs: readonly string[] | undefined;
  apiServerRateLimit: { maxConnectionsPerSecond: number; burst: number } | undefined;
  workerSubnet: string;
  pools: readonly DesiredPool[];
}

/**
 * What a class cannot carry of what is wanted, in sentences; empty = all of it. Sending less than what is wanted would
 * leave the cluster more open than its owner asked for, so any entry means: apply nothing.
 */
export function findUnsupported(desired: DesiredCluster, capabilities: ClassCapabilities): string[] {
  const missing = (name: string) => !capabilities.variables.has(name);
  const faults: string[] = [];
  if (!desired.publicEndpoint && missing("publicEndpoint")) faults.push("a private endpoint");
  if (desired.authorizedCIDRs !== undefined && missing("authorizedCIDRs")) faults.push("authorized CIDRs");
  if (desired.apiServerRateLimit !== undefined && missing("apiServerRateLimit")) {
    faults.push("a rate limit of the API server");
  }
  if (desired.pools.length > 0 && capabilities.workerClass === undefined) faults.push("node pools");
  return faults.map((what) => `The cluster class ${desired.classRef.name} cannot carry ${what}.`);
}

/**
 * The engine's Cluster, whole, for a server-side apply. Empty maps and lists are left out: the engine refuses them. Of the class's variables only those that it declares are set.
 */
export function composeEngineCluster(
  desired: DesiredCluster,
  capabilities: ClassCapabilities,
): EngineCluster {
  const { workerClass } = capabilities;
  const pools: EnginePool[] =
    workerClass === undefined
      ? []
      : desired.pools.map((pool) => composePool(pool, workerClass, capabilities.variables));
  const variables = composeVariables(desired, capabilities.variables);
  return {
    apiVersion: apiVersionOf(engineClusterKind),
    kind: engineClusterKind.kind,
    metadata: {
      name: desired.name,
      namespace: desired.namespace,
      labels: desired.labels,
      ownerReferences: [desired.owner],
    },
    spec: {
      topology: {
        classRef: desired.classRef,
        version: `v${desired.version}`,
        controlPlane: { replicas: desired.controlPlaneReplicas },
        ...(variables.length > 0 && { variables }),
        ...(pools.length > 0 && { workers: { machineDeployments: pools } }),
      },
    },
  };
}

/** Takes an entry that another manager added out of the topology: it survives even a forced apply. */
export function removePoolEntry(cluster: EngineCluster, poolName: string): Step {
  const pools = cluster.spec?.topology?.workers?.machineDeployments ?? [];
  const path = `/spec/topology/workers/machineDeployments/${pools.findIndex((pool) => pool.name === poolName)}`;
  return {
    verb: "patch",
    kind: engineClusterKind,
    namespace: cluster.metadata.namespace ?? "",
    name: cluster.metadata.name,
    operations: [
      { op: "test", path: `${path}/name`, value: poolName },
      { op: "remove", path },
    ],
  };
}

function composeVariables(desired: DesiredCluster, declared: ReadonlySet<string>): EngineVariable[] {
  const wanted: [string, unknown][] = [
    ["plan", desired.plan],
    ["publicEndpoint", desired.publicEndpoint],
    ["authorizedCIDRs", desired.authorizedCIDRs],
    ["apiServerRateLimit", desired.apiServerRateLimit],
    ["workerSubnet", desired.workerSubnet],
  ];
  return wanted
    .filter(([name, value]) => value !== undefined && declared.has(name))
    .map(([name, value]) => ({ name, value }));
}

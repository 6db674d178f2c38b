import { hashOf } from "../../shared/controller/applied.ts";
import { ANNOTATION_APPLIED, ANNOTATION_MACHINE_SIZE } from "../../shared/crd/names.ts";
import type { ClassCapabilities } from "./cluster-class.ts";
import type { CapiCluster, CapiDeletion, CapiHealthCheck, MachineDeploymentTopology } from "./kinds.ts";

const READ = ["get", "list", "watch"];

/**
 * What the cluster autoscaler does in the management cluster, within one namespace: it finds the node groups of its
 * cluster, scales them, marks the Machines to delete first, and reads what a Machine would offer.
 */
export const AUTOSCALER_RULES = [
  {
    apiGroups: ["cluster.x-k8s.io"],
    resources: ["machinedeployments", "machinepools", "machinesets"],
    verbs: READ,
  },
  {
    apiGroups: ["cluster.x-k8s.io"],
    resources: ["machines"],
    verbs: [...READ, "update", "patch"],
  },
  {
    apiGroups: ["cluster.x-k8s.io"],
    resources: ["machinedeployments/scale", "machinepools/scale", "machinesets/scale"],
    verbs: ["get", "update", "patch"],
  },
  { apiGroups: ["infrastructure.cluster.x-k8s.io"], resources: ["*"], verbs: READ },
];

/** Values for fields that a pool does not set; they also apply when they change later. */
export interface PoolDefaults {
  drainTimeoutSeconds: number;
  scaleDownDelaySeconds: number;
  scaleDownUtilizationPercent: number;
  /** For how long a drained node is waited for until its volumes are detached; no pool sets it. */
  volumeDetachTimeoutSeconds: number;
  /** For how long after drain and volumes the Node object of a machine is tried to be deleted; no pool sets it. */
  nodeDeletionTimeoutSeconds: number;
}

/** How long each step of the deletion of a machine may take; without it Cluster API waits for ever. */
export type DeletionTimeouts = Pick<
  PoolDefaults,
  "drainTimeoutSeconds" | "volumeDetachTimeoutSeconds" | "nodeDeletionTimeoutSeconds"
>;

/** A node pool in Marina's terms, every default resolved. Memory and disk are GiB. */
export interface DesiredPool extends DeletionTimeouts {
  name: string;
  scale: { kind: "fixed"; nodes: number } | { kind: "autoscaled"; minNodes: number; maxNodes: number };
  /** The number of nodes that Cluster API is asked for now; undefined = none yet. */
  liveReplicas: number | undefined;
  /** The most that it may have now, limited to what the status can list (see limitGrowth); undefined = what its scale says. */
  nodeCap?: number | undefined;
  machineSize: { vcpus: number; memoryGB: number; diskGB: number };
  labels: Record<string, string>;
  taints: readonly { key: string; value?: string; effect: string }[];
  scaleDownDelaySeconds: number;
  scaleDownUtilizationPercent: number;
}

const MIN_SIZE = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
const MAX_SIZE = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";
const UNNEEDED_TIME = "cluster.x-k8s.io/autoscaling-options-scaledownunneededtime";
const UTILIZATION_THRESHOLD = "cluster.x-k8s.io/autoscaling-options-scaledownutilizationthreshold";
const CAPACITY = "capacity.cluster-autoscaler.kubernetes.io";

/**
 * The pool's entry in Cluster API's topology. A fixed pool has replicas and no autoscaler annotations, an autoscaled
 * one the reverse: Cluster API rejects both together. Taints are set at start-up, natively or by the class's own
 * variable.
 */
export function composePool(
  desired: DesiredPool,
  workerClass: string,
  { variables: declared, workerHealthCheck }: Pick<ClassCapabilities, "variables" | "workerHealthCheck">,
): MachineDeploymentTopology {
  const pool = { ...desired, scale: limitScale(desired) };
  const healthCheck = limitRemediation(pool, workerHealthCheck);
  const byVariable = declared.has("nodeTaints");
  const metadata = {
    ...(Object.keys(pool.labels).length > 0 && { labels: pool.labels }),
    annotations: {
      [ANNOTATION_APPLIED]: hashDesiredPool(desired),
      [ANNOTATION_MACHINE_SIZE]: JSON.stringify(pool.machineSize),
      ...(pool.scale.kind === "autoscaled" && composeAnnotations(pool, pool.scale)),
    },
  };
  const overrides = [
    ...(declared.has("machine") ? [{ name: "machine", value: pool.machineSize }] : []),
    ...(byVariable && pool.taints.length > 0 ? [{ name: "nodeTaints", value: pool.taints }] : []),
  ];
  return {
    class: workerClass,
    name: pool.name,
    ...(pool.scale.kind === "fixed" && { replicas: pool.scale.nodes }),
    metadata,
    deletion: composeDeletion(pool),
    ...(healthCheck && { healthCheck }),
    ...(!byVariable &&
      pool.taints.length > 0 && {
        taints: pool.taints.map((taint) => ({ ...taint, propagation: "OnInitialization" as const })),
      }),
    ...(overrides.length > 0 && { variables: { overrides } }),
  };
}

function limitScale({ scale, nodeCap = Number.POSITIVE_INFINITY }: DesiredPool): DesiredPool["scale"] {
  if (scale.kind === "fixed") return { ...scale, nodes: Math.min(scale.nodes, nodeCap) };
  const [minNodes, maxNodes] = [Math.min(scale.minNodes, nodeCap), Math.min(scale.maxNodes, nodeCap)];
  return { ...scale, minNodes, maxNodes };
}

/**
 * A part of the nodes of a pool: when more are unhealthy at once, what they have in common is the cause, and none is
 * replaced.
 */
const REMEDIATED_SHARE = 0.4;

/**
 * The health check of a class, which that of an entry replaces, with a limit on how many nodes may be unhealthy: a
 * share of those of a fixed pool, or of those that an autoscaled one has now, and one at least, since Cluster API
 * rounds a share down, and small pools would never be repaired. Undefined = the class has none, or a limit.
 */
function limitRemediation(
  { scale, liveReplicas = 0 }: DesiredPool,
  healthCheck: CapiHealthCheck | undefined,
): CapiHealthCheck | undefined {
  if (healthCheck?.checks === undefined || healthCheck.remediation?.triggerIf !== undefined) return undefined;
  const nodes = scale.kind === "fixed" ? scale.nodes : Math.max(scale.minNodes, liveReplicas);
  const unhealthyLessThanOrEqualTo = Math.max(1, Math.floor(nodes * REMEDIATED_SHARE));
  return {
    ...healthCheck,
    remediation: { ...healthCheck.remediation, triggerIf: { unhealthyLessThanOrEqualTo } },
  };
}

/**
 * Cluster API counts the first two from when each begins, and the third from when the deletion of the Machine was asked
 * for, so that it covers the others. Machines that exist get other values in place.
 */
export function composeDeletion(timeouts: DeletionTimeouts): CapiDeletion {
  const { drainTimeoutSeconds: drain, volumeDetachTimeoutSeconds: detach } = timeouts;
  return {
    nodeDrainTimeoutSeconds: drain,
    nodeVolumeDetachTimeoutSeconds: detach,
    nodeDeletionTimeoutSeconds: drain + detach + timeouts.nodeDeletionTimeoutSeconds,
  };
}

/**
 * A hash of a pool but for its name and its number of nodes (desired, live and the most that it may have now). The keys `machine`
 * and `size` are of former names: with others each pool would be applied again.
 * Cluster API propagates it with the entry's other annotations to the MachineDeployment and in place to every Machine that
 * needs no replacement, so that it shows which are as this pool specifies.
 */
export function hashDesiredPool(pool: DesiredPool): string {
  const { name: _, liveReplicas: __, nodeCap: ___, scale, machineSize: machine, ...others } = pool;
  const size = scale.kind === "autoscaled" ? scale : undefined;
  return hashOf({ ...others, machine, size });
}

/** The autoscaler's bounds of an entry; undefined = its number of nodes is fixed. */
function readAutoscalerBounds({ metadata }: MachineDeploymentTopology) {
  const { [MIN_SIZE]: minimum, [MAX_SIZE]: maximum } = metadata?.annotations ?? {};
  if (minimum === undefined || maximum === undefined) return undefined;
  return { minNodes: Number(minimum), maxNodes: Number(maximum) };
}

/**
 * What the cluster autoscaler reads from a node group: bounds, scale-down options, and what a node would offer, so that
 * it can scale up from zero. See cluster-autoscaler/cloudprovider/clusterapi/README.md.
 */
function composeAnnotations(pool: DesiredPool, scale: { minNodes: number; maxNodes: number }) {
  const labels = Object.entries(pool.labels).map(([key, value]) => `${key}=${value}`);
  const taints = pool.taints.map((taint) => `${taint.key}=${taint.value ?? ""}:${taint.effect}`);
  return {
    [MIN_SIZE]: String(scale.minNodes),
    [MAX_SIZE]: String(scale.maxNodes),
    [UNNEEDED_TIME]: `${pool.scaleDownDelaySeconds}s`,
    [UTILIZATION_THRESHOLD]: String(pool.scaleDownUtilizationPercent / 100),
    [`${CAPACITY}/cpu`]: String(pool.machineSize.vcpus),
    [`${CAPACITY}/memory`]: `${pool.machineSize.memoryGB}Gi`,
    [`${CAPACITY}/ephemeral-disk`]: `${pool.machineSize.diskGB}Gi`,
    ...(labels.length > 0 && { [`${CAPACITY}/labels`]: labels.join(",") }),
    ...(taints.length > 0 && { [`${CAPACITY}/taints`]: taints.join(",") }),
  };
}

/** The flags by which the cluster autoscaler finds the node groups and the tenant API of one cluster. */
export function autoscalerArgs(namespace: string, clusterName: string, kubeconfigPath: string): string[] {
  return [
    "--cloud-provider=clusterapi",
    `--node-group-auto-discovery=clusterapi:namespace=${namespace},clusterName=${clusterName}`,
    `--kubeconfig=${kubeconfigPath}`,
    "--clusterapi-cloud-config-authoritative",
  ];
}

/** The entry of a pool in the live topology: what was applied last, by the operator or another manager. */
export interface TopologyPool {
  scale: DesiredPool["scale"];
  /** Undefined = the class has no variable for the size of a machine. */
  machineSize: DesiredPool["machineSize"] | undefined;
  /** See hashDesiredPool; undefined = the operator has not applied it. */
  appliedHash: string | undefined;
}

/** The pools in the live topology, by name. */
export function readTopologyPools(cluster: CapiCluster | undefined): ReadonlyMap<string, TopologyPool> {
  const entries = cluster?.spec?.topology?.workers?.machineDeployments ?? [];
  return new Map(entries.map((entry) => [entry.name, readTopologyPool(entry)]));
}

function readTopologyPool(entry: MachineDeploymentTopology): TopologyPool {
  const bounds = readAutoscalerBounds(entry);
  return {
    scale:
      bounds === undefined
        ? { kind: "fixed", nodes: entry.replicas ?? 0 }
        : { kind: "autoscaled", ...bounds },
    machineSize: readMachineSize(entry.variables?.overrides.find(({ name }) => name === "machine")?.value),
    appliedHash: entry.metadata?.annotations?.[ANNOTATION_APPLIED],
  };
}

/** The size that a value of a variable or an annotation has; undefined = it is none. */
export function readMachineSize(value: unknown): DesiredPool["machineSize"] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { vcpus, memoryGB, diskGB } = value as Partial<Record<string, unknown>>;
  return typeof vcpus === "number" && typeof memoryGB === "number" && typeof diskGB === "number"
    ? { vcpus, memoryGB, diskGB }
    : undefined;
}

import { ANNOTATION_APPLIED, ANNOTATION_MACHINE_SIZE } from "../../shared/crd/names.ts";
import type { ObjectMeta } from "../../shared/kube/kind.ts";
import {
  type CapiCluster,
  type CapiCondition,
  capiPoolNameOf,
  LABEL_CAPI_CLUSTER,
  LABEL_CAPI_POOL,
  type Machine,
  type MachineDeployment,
  type MachineSet,
} from "./kinds.ts";
import { pickTemplate } from "./pool-state.ts";

/**
 * What the operator reads of Cluster API's objects, which are most of its memory: a whole Machine has 9 KB, the fields that
 * are kept under 2 KB.
 */
const CLUSTER_CONDITIONS = new Set([
  "Available",
  "ControlPlaneAvailable",
  "ControlPlaneInitialized",
  "Deleting",
  "InfrastructureReady",
  "Paused",
  "RemoteConnectionProbe",
  "RollingOut",
  "TopologyReconciled",
]);
const DEPLOYMENT_CONDITIONS = new Set(["Available", "RollingOut"]);
const MACHINE_CONDITIONS = new Set([
  "BootstrapConfigReady",
  "Deleting",
  "HealthCheckSucceeded",
  "InfrastructureReady",
  "NodeHealthy",
  "OwnerRemediated",
  "Ready",
  "UpToDate",
]);

/** Keeps the topology, the endpoint, the networks, and the conditions that are read. */
export function trimCapiCluster(cluster: CapiCluster): CapiCluster {
  const { metadata, spec, status } = cluster;
  return {
    apiVersion: cluster.apiVersion,
    kind: cluster.kind,
    metadata: {
      ...trimMetadata(metadata),
      ...pick(metadata, ["labels", "annotations", "ownerReferences"]),
    },
    ...(spec && {
      spec: pick(spec, ["paused", "controlPlaneEndpoint", "clusterNetwork", "infrastructureRef", "topology"]),
    }),
    ...(status && {
      status: {
        ...pick(status, ["observedGeneration", "phase"]),
        conditions: trimConditions(status.conditions, CLUSTER_CONDITIONS),
        ...(status.controlPlane && { controlPlane: pick(status.controlPlane, ["versions", "upgradePlan"]) }),
        ...(status.workers && { workers: pick(status.workers, ["versions", "upgradePlan"]) }),
      },
    }),
  };
}

/** Keeps its identity, its counters, and what decides about replacements. */
export function trimMachineDeployment(machineDeployment: MachineDeployment): MachineDeployment {
  const { metadata, spec, status } = machineDeployment;
  const template = pickTemplate(machineDeployment);
  return {
    apiVersion: machineDeployment.apiVersion,
    kind: machineDeployment.kind,
    metadata: {
      ...trimMetadata(metadata),
      ...trimLabels(metadata),
      ...trimAnnotations(metadata, [ANNOTATION_APPLIED, ANNOTATION_MACHINE_SIZE]),
      ...pick(metadata, ["finalizers"]),
    },
    ...(spec && { spec: { ...pick(spec, ["replicas"]), ...(template && { template }) } }),
    ...(status && {
      status: {
        ...pick(status, [
          "observedGeneration",
          "selector",
          "replicas",
          "readyReplicas",
          "upToDateReplicas",
          "versions",
        ]),
        conditions: trimConditions(status.conditions, DEPLOYMENT_CONDITIONS),
      },
    }),
  };
}

/** Keeps its identity and what decides about replacements. */
export function trimMachineSet(set: MachineSet): MachineSet {
  const { apiVersion, kind, metadata } = set;
  const template = pickTemplate(set);
  return {
    apiVersion,
    kind,
    metadata: { ...trimMetadata(metadata), ...trimLabels(metadata) },
    ...(template && { spec: { template } }),
  };
}

/** Keeps its identity, its MachineSet, its infrastructure object, and its state. */
export function trimMachine(machine: Machine): Machine {
  const { metadata, spec, status } = machine;
  return {
    apiVersion: machine.apiVersion,
    kind: machine.kind,
    metadata: {
      ...trimMetadata(metadata),
      ...trimLabels(metadata),
      ...trimAnnotations(metadata, [ANNOTATION_APPLIED]),
      ...pick(metadata, ["ownerReferences"]),
      ...(metadata.deletionTimestamp !== undefined && pick(metadata, ["finalizers"])),
    },
    ...(spec && { spec: pick(spec, ["version", "infrastructureRef", "providerID"]) }),
    ...(status && {
      status: {
        ...pick(status, ["phase", "nodeRef"]),
        // The state of the control plane's machines is not read.
        conditions:
          capiPoolNameOf(metadata) === undefined ? [] : trimConditions(status.conditions, MACHINE_CONDITIONS),
      },
    }),
  };
}

function trimMetadata(metadata: ObjectMeta): ObjectMeta {
  return pick(metadata, [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
  ]) as ObjectMeta;
}

function trimLabels({ labels = {} }: ObjectMeta): Pick<ObjectMeta, "labels"> {
  return { labels: pick(labels, [LABEL_CAPI_CLUSTER, LABEL_CAPI_POOL]) as Record<string, string> };
}

function trimAnnotations(
  { annotations = {} }: ObjectMeta,
  names: readonly string[],
): Pick<ObjectMeta, "annotations"> {
  const kept = pick(annotations, names) as Record<string, string>;
  return Object.keys(kept).length === 0 ? {} : { annotations: kept };
}

function trimConditions(
  conditions: readonly CapiCondition[] | undefined,
  types: ReadonlySet<string>,
): CapiCondition[] {
  return (conditions ?? []).filter(({ type }) => types.has(type)).map(trimGoodCondition);
}

/** The message or time of these is read whatever their status is. */
const ALWAYS_READ = new Set(["Deleting", "OwnerRemediated", "TopologyReconciled"]);
const GOOD_WHEN_FALSE = new Set(["Paused", "RollingOut"]);
/** One shared condition of each type. A fleet of 10,000 clusters has 230,000 such conditions. */
const GOOD_CONDITIONS: ReadonlyMap<string, CapiCondition> = new Map(
  [...CLUSTER_CONDITIONS, ...DEPLOYMENT_CONDITIONS, ...MACHINE_CONDITIONS]
    .filter((type) => !ALWAYS_READ.has(type))
    .map((type) => {
      const status = GOOD_WHEN_FALSE.has(type) ? "False" : "True";
      return [type, Object.freeze({ type, status, reason: "", lastTransitionTime: "" })];
    }),
);

/** Only type and status of a healthy condition are read: all equal ones share one object. */
function trimGoodCondition(condition: CapiCondition): CapiCondition {
  const good = GOOD_CONDITIONS.get(condition.type);
  return good?.status === condition.status ? good : condition;
}

function pick<T extends object, Key extends keyof T>(object: T, keys: readonly Key[]): Pick<T, Key> {
  const picked: Partial<Pick<T, Key>> = {};
  for (const key of keys) if (object[key] !== undefined) picked[key] = object[key];
  return picked as Pick<T, Key>;
}

import type { ObjectMeta } from "../../shared/kube/kind.ts";
import {
  type EngineCluster,
  type EngineCondition,
  enginePoolNameOf,
  INTAKE_FINALIZERS,
  LABEL_ENGINE_CLUSTER,
  LABEL_ENGINE_POOL,
  type Machine,
  type MachineDeployment,
} from "./kinds.ts";

/**
 * What the operator reads of the engine's objects. They are most of its memory: of a Machine with all its fields 9 KB, of
 * what is kept under 2 KB.
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
  "HealthCheckSucceeded",
  "InfrastructureReady",
  "NodeHealthy",
  "OwnerRemediated",
  "Ready",
]);

/** Keeps what was asked of the engine, where its API is, and the conditions that are read. */
export function trimEngineCluster(cluster: EngineCluster): EngineCluster {
  const { metadata, spec, status } = cluster;
  return {
    apiVersion: cluster.apiVersion,
    kind: cluster.kind,
    metadata: {
      ...trimMetadata(metadata),
      ...pick(metadata, ["labels", "annotations", "ownerReferences"]),
    },
    ...(spec && { spec: pick(spec, ["paused", "controlPlaneEndpoint", "topology"]) }),
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

/** Keeps whose it is and its counters. */
export function trimMachineDeployment(deployment: MachineDeployment): MachineDeployment {
  const { metadata, spec, status } = deployment;
  return {
    apiVersion: deployment.apiVersion,
    kind: deployment.kind,
    metadata: { ...trimMetadata(metadata), ...trimLabels(metadata), finalizers: trimFinalizers(metadata) },
    ...(spec && { spec: pick(spec, ["replicas"]) }),
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

/** Keeps whose it is, what carries it, and how it is. */
export function trimMachine(machine: Machine): Machine {
  const { metadata, spec, status } = machine;
  return {
    apiVersion: machine.apiVersion,
    kind: machine.kind,
    metadata: { ...trimMetadata(metadata), ...trimLabels(metadata) },
    ...(spec && { spec: pick(spec, ["version", "infrastructureRef"]) }),
    ...(status && {
      status: {
        ...pick(status, ["phase", "nodeRef"]),
        // Of the control plane's machines nobody asks how they are.
        conditions:
          enginePoolNameOf(metadata) === undefined
            ? []
            : trimConditions(status.conditions, MACHINE_CONDITIONS),
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
  return { labels: pick(labels, [LABEL_ENGINE_CLUSTER, LABEL_ENGINE_POOL]) as Record<string, string> };
}

/** Nearly all have both of those that are read, and share one list. */
function trimFinalizers({ finalizers = [] }: ObjectMeta): string[] {
  const kept = INTAKE_FINALIZERS.filter((finalizer) => finalizers.includes(finalizer));
  return kept.length === INTAKE_FINALIZERS.length ? INTAKE_FINALIZERS : kept;
}

function trimConditions(
  conditions: readonly EngineCondition[] | undefined,
  types: ReadonlySet<string>,
): EngineCondition[] {
  return (conditions ?? [])
    .filter(({ type }) => types.has(type))
    .map((condition) => (isQuiet(condition) ? shareQuiet(condition) : condition));
}

/** Their words, or what they are about, are read whatever their status is. */
const ALWAYS_READ = new Set(["Deleting", "OwnerRemediated", "TopologyReconciled"]);
const GOOD_WHEN_FALSE = new Set(["Paused", "RollingOut"]);

/** Of what is as it should be nobody reads more than that it is so. */
function isQuiet({ type, status }: EngineCondition): boolean {
  if (ALWAYS_READ.has(type)) return false;
  return status === (GOOD_WHEN_FALSE.has(type) ? "False" : "True");
}

const quiet = new Map<string, EngineCondition>();

/** One object for all that say the same. */
function shareQuiet({ type, status }: EngineCondition): EngineCondition {
  const known = quiet.get(type);
  if (known !== undefined) return known;
  const shared: EngineCondition = Object.freeze({ type, status, reason: "", lastTransitionTime: "" });
  quiet.set(type, shared);
  return shared;
}

function pick<T extends object, Key extends keyof T>(object: T, keys: readonly Key[]): Pick<T, Key> {
  const picked: Partial<Pick<T, Key>> = {};
  for (const key of keys) if (object[key] !== undefined) picked[key] = object[key];
  return picked as Pick<T, Key>;
}

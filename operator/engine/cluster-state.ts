import { type EngineCluster, type EngineCondition, findEngineCondition } from "./kinds.ts";

/** What the engine says of one cluster, in Marina's words. */
export interface EngineState {
  deleting: boolean;
  paused: boolean;
  /** The version asked of the engine, no `v`. */
  version: string | undefined;
  classRef: { name: string; namespace: string } | undefined;
  /** "https://host:port", once the engine reported both. */
  endpoint: { url: string; host: string } | undefined;
  controlPlaneInitialized: boolean;
  /** What the control plane's machines run (no `v`): several while it is being upgraded. */
  controlPlaneVersions: readonly string[];
  /** What holds up a control plane that was never up; undefined = nothing that the engine tells. */
  holdUp: EngineCondition | undefined;
  /** The /24 that the live topology carries; undefined = none, or a class that has no such variable. */
  workerSubnet: string | undefined;
  available: EngineCondition | undefined;
  controlPlaneAvailable: EngineCondition | undefined;
  remoteConnection: EngineCondition | undefined;
  /** A refusal that came after the apply, word for word. */
  lateRefusal: string | undefined;
  /** The rollout has ended: everything runs `version`. */
  settled: boolean;
  rollingOut: boolean;
  /** The engine has acted on the object as it stands now. */
  observed: boolean;
  deletion: EngineCondition | undefined;
  /** Names of the entries in the topology, whoever added them. */
  poolNames: readonly string[];
}

/** What a new control plane waits for, in the order in which it gets them. */
const HOLD_UPS = ["TopologyReconciled", "InfrastructureReady", "ControlPlaneInitialized"];

/** Reads the engine's Cluster. Rules: Cluster API v1.14, seen in runs with its in-memory provider. */
export function readEngineCluster(cluster: EngineCluster): EngineState {
  const topology = cluster.spec?.topology;
  const namespace = cluster.metadata.namespace ?? "";
  const reconciled = findEngineCondition(cluster, "TopologyReconciled");
  return {
    deleting: cluster.metadata.deletionTimestamp !== undefined,
    paused: isTrue(cluster, "Paused"),
    version: topology?.version.replace(/^v/, ""),
    classRef: topology && { namespace, ...topology.classRef },
    endpoint: readEndpoint(cluster),
    controlPlaneInitialized: isTrue(cluster, "ControlPlaneInitialized"),
    controlPlaneVersions: (cluster.status?.controlPlane?.versions ?? []).map((entry) =>
      entry.version.replace(/^v/, ""),
    ),
    holdUp: HOLD_UPS.map((type) => findEngineCondition(cluster, type)).find(
      (condition) => condition !== undefined && condition.status !== "True",
    ),
    workerSubnet: readWorkerSubnet(cluster),
    available: findEngineCondition(cluster, "Available"),
    controlPlaneAvailable: findEngineCondition(cluster, "ControlPlaneAvailable"),
    remoteConnection: findEngineCondition(cluster, "RemoteConnectionProbe"),
    lateRefusal: readLateRefusal(reconciled),
    settled: isSettled(cluster),
    rollingOut: isTrue(cluster, "RollingOut"),
    observed: isObserved(cluster),
    deletion: findEngineCondition(cluster, "Deleting"),
    poolNames: (topology?.workers?.machineDeployments ?? []).map((pool) => pool.name),
  };
}

/** A part of the engine that does not answer refuses nothing: it is a wait, and passes by itself. */
const UNANSWERED = /failed calling webhook|connection refused|context deadline exceeded/;

function readLateRefusal(reconciled: EngineCondition | undefined): string | undefined {
  if (reconciled?.status !== "False" || reconciled.reason !== "ReconcileFailed") return undefined;
  const words = reconciled.message ?? reconciled.reason;
  return UNANSWERED.test(words) ? undefined : words;
}

function readWorkerSubnet(cluster: EngineCluster): string | undefined {
  const value = cluster.spec?.topology?.variables?.find(({ name }) => name === "workerSubnet")?.value;
  return typeof value === "string" ? value : undefined;
}

function isTrue(cluster: EngineCluster, type: string): boolean {
  return findEngineCondition(cluster, type)?.status === "True";
}

function readEndpoint(cluster: EngineCluster): EngineState["endpoint"] {
  const { host, port } = cluster.spec?.controlPlaneEndpoint ?? {};
  if (!host || !port) return undefined;
  const inUrl = host.includes(":") ? `[${host}]` : host;
  return { url: `https://${inUrl}:${port}`, host };
}

function isObserved(cluster: EngineCluster): boolean {
  const reconciled = findEngineCondition(cluster, "TopologyReconciled");
  const generation = cluster.metadata.generation ?? 0;
  return (
    cluster.status?.observedGeneration === generation &&
    (reconciled?.observedGeneration === undefined || reconciled.observedGeneration === generation)
  );
}

/**
 * Whether a rollout has ended. No single sign is enough: RollingOut is False for seconds between the stages of an
 * upgrade, and TopologyReconciled is True a second or two before the last old Machine is gone. Workers without nodes
 * report no versions.
 */
function isSettled(cluster: EngineCluster): boolean {
  const { controlPlane, workers } = cluster.status ?? {};
  const wanted = cluster.spec?.topology?.version;
  const versions = [...(controlPlane?.versions ?? []), ...(workers?.versions ?? [])];
  return (
    isObserved(cluster) &&
    isTrue(cluster, "TopologyReconciled") &&
    findEngineCondition(cluster, "RollingOut")?.status === "False" &&
    (controlPlane?.upgradePlan ?? []).length === 0 &&
    (workers?.upgradePlan ?? []).length === 0 &&
    (controlPlane?.versions ?? []).length > 0 &&
    versions.every((entry) => entry.version === wanted)
  );
}

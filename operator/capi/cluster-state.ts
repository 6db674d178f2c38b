import { elapsedMs } from "../../shared/program/time.ts";
import { type CapiCluster, type CapiCondition, findCapiCondition } from "./kinds.ts";
import { explain, isTransientError } from "./tenant-messages.ts";

/** What Cluster API reports of one cluster, in Marina's terms. */
export interface CapiState {
  deleting: boolean;
  /** Cluster API has confirmed its pause (condition `Paused`), which `spec.paused` asks for. */
  paused: boolean;
  /** The version requested from Cluster API, no `v`. */
  topologyVersion: string | undefined;
  classRef: { name: string; namespace: string } | undefined;
  /** "https://host:port", once Cluster API reported both. */
  endpoint: { url: string; host: string } | undefined;
  controlPlaneInitialized: boolean;
  /**
   * What the control plane's machines run (no `v`): several during an upgrade. Of a provider that reports no list, the
   * version that is certain; empty while none is.
   */
  controlPlaneVersions: readonly string[];
  /** What a control plane that was never initialized waits for; undefined = nothing is reported. */
  blockingCondition: CapiCondition | undefined;
  /** Why an initialized control plane is unavailable; undefined = it is available. */
  controlPlaneFailure: string | undefined;
  /** The statuses that say whether the control plane is available: another value is worth another connection to it. */
  controlPlaneAvailability: string;
  /** The /24 in the live topology; undefined = none, or a class without such a variable. */
  workerSubnet: string | undefined;
  available: CapiCondition | undefined;
  /** Why Cluster API cannot reconcile the topology, a rejection or not, verbatim, and since when (RFC 3339). */
  reconcileFailure: { message: string; since: string } | undefined;
  /** The rollout has ended: everything runs `topologyVersion`. */
  converged: boolean;
  rollingOut: boolean;
  /** Cluster API has acted on the current generation of the object. */
  isGenerationObserved: boolean;
  deletion: CapiCondition | undefined;
  /** Parts that were there and were deleted while the cluster stays, in tenants' words; Cluster API makes none of them again. */
  deletedParts: readonly string[];
  /** Parts that Cluster API has made and does not find: lost if that lasts, else its cache is behind. */
  missingParts: readonly string[];
  /** Names of the entries in the topology, from any manager. */
  poolNames: readonly string[];
}

/** What a new control plane waits for, in order. */
const STARTUP_CONDITIONS = ["TopologyReconciled", "InfrastructureReady", "ControlPlaneInitialized"];

/** Reads Cluster API's Cluster. Rules: Cluster API v1.14, observed with its in-memory provider. */
export function readCapiCluster(cluster: CapiCluster): CapiState {
  const topology = cluster.spec?.topology;
  const namespace = cluster.metadata.namespace ?? "";
  const available = findCapiCondition(cluster, "ControlPlaneAvailable");
  const connection = findCapiCondition(cluster, "RemoteConnectionProbe");
  return {
    deleting: cluster.metadata.deletionTimestamp !== undefined,
    paused: isTrue(cluster, "Paused"),
    topologyVersion: topology?.version.replace(/^v/, ""),
    classRef: topology && { namespace, ...topology.classRef },
    endpoint: readEndpoint(cluster),
    controlPlaneInitialized: isTrue(cluster, "ControlPlaneInitialized"),
    controlPlaneVersions: readControlPlaneVersions(cluster),
    blockingCondition: STARTUP_CONDITIONS.map((type) => findCapiCondition(cluster, type)).find(
      (condition) => condition !== undefined && condition.status !== "True",
    ),
    controlPlaneFailure: describeFailure(available, connection),
    controlPlaneAvailability: `${available?.status} ${connection?.status}`,
    workerSubnet: readWorkerSubnet(cluster),
    available: findCapiCondition(cluster, "Available"),
    reconcileFailure: readReconcileFailure(cluster),
    converged: isConverged(cluster),
    rollingOut: isTrue(cluster, "RollingOut"),
    isGenerationObserved: isObserved(cluster),
    deletion: findCapiCondition(cluster, "Deleting"),
    deletedParts: findParts(cluster, ({ reason }) => reason === "ObjectDeleted"),
    missingParts: findParts(cluster, isMissing),
    poolNames: (topology?.workers?.machineDeployments ?? []).map((pool) => pool.name),
  };
}

/** The conditions that mirror an object of a provider, and what that object is to a tenant. */
const MIRRORED_PARTS = [
  { type: "ControlPlaneAvailable", part: "control plane" },
  { type: "InfrastructureReady", part: "network infrastructure" },
] as const;

/**
 * Source of the reasons: condition_consts.go of Cluster API v1.14. "ObjectDeleted" is said once the part was initialized, "has been
 * deleted while the cluster still exists".
 */
function findParts(cluster: CapiCluster, isGone: (condition: CapiCondition) => boolean): string[] {
  if (cluster.metadata.deletionTimestamp !== undefined) return [];
  return MIRRORED_PARTS.filter(({ type }) => {
    const condition = findCapiCondition(cluster, type);
    return condition !== undefined && isGone(condition);
  }).map(({ part }) => part);
}

/** The reason of a part that was not made yet is equal; its message is "Waiting for cluster topology to be reconciled". */
function isMissing({ reason, message = "" }: CapiCondition): boolean {
  return reason === "ObjectDoesNotExist" && message.endsWith("does not exist");
}

/** A failure to reconcile the topology counts once it has lasted this long, and a part that Cluster API does not find. */
export const RECONCILE_FAILURE_LASTS_MS = 15_000;

/** The parts that are gone for good, in tenants' words: Cluster API makes none of them again, and reads nothing else without them. */
export function listLostParts({ reconcileFailure: failure, ...state }: CapiState, now: Date): string[] {
  const isLasting = failure !== undefined && elapsedMs(failure.since, now) >= RECONCILE_FAILURE_LASTS_MS;
  return [...state.deletedParts, ...(isLasting ? state.missingParts : [])];
}

function describeFailure(
  available: CapiCondition | undefined,
  connection: CapiCondition | undefined,
): string | undefined {
  const failed = [available, connection].find((condition) => condition?.status === "False");
  if (failed !== undefined) return explain(failed);
  if (available?.status === "True") return undefined;
  return available === undefined ? "Cluster API does not report its state" : explain(available);
}

function readReconcileFailure(cluster: CapiCluster): CapiState["reconcileFailure"] {
  const reconciled = findCapiCondition(cluster, "TopologyReconciled");
  if (reconciled?.status !== "False" || reconciled.reason !== "ReconcileFailed") return undefined;
  const message = reconciled.message ?? reconciled.reason;
  return isTransientError(message) ? undefined : { message, since: reconciled.lastTransitionTime };
}

/** The value of a variable in the live topology; undefined = it has none. */
export function readVariable(cluster: CapiCluster, variable: string): unknown {
  return cluster.spec?.topology?.variables?.find(({ name }) => name === variable)?.value;
}

function readWorkerSubnet(cluster: CapiCluster): string | undefined {
  const value = readVariable(cluster, "workerSubnet");
  return typeof value === "string" ? value : undefined;
}

function isTrue(cluster: CapiCluster, type: string): boolean {
  return findCapiCondition(cluster, type)?.status === "True";
}

function readEndpoint(cluster: CapiCluster): CapiState["endpoint"] {
  const { host, port } = cluster.spec?.controlPlaneEndpoint ?? {};
  if (!host || !port) return undefined;
  const inUrl = host.includes(":") ? `[${host}]` : host;
  return { url: `https://${inUrl}:${port}`, host };
}

/**
 * A provider may report `status.version` alone, which Cluster API reads for itself and does not pass on. Workers follow the
 * control plane: once one of them runs the requested version, the control plane does.
 */
function readControlPlaneVersions(cluster: CapiCluster): string[] {
  const { controlPlane, workers } = cluster.status ?? {};
  const desired = cluster.spec?.topology?.version;
  const reported = (controlPlane?.versions ?? []).map((entry) => entry.version);
  const isCertain =
    isConverged(cluster) || (workers?.versions ?? []).some((entry) => entry.version === desired);
  const versions = reported.length === 0 && isCertain && desired !== undefined ? [desired] : reported;
  return versions.map((version) => version.replace(/^v/, ""));
}

function isObserved(cluster: CapiCluster): boolean {
  const reconciled = findCapiCondition(cluster, "TopologyReconciled");
  const generation = cluster.metadata.generation ?? 0;
  return (
    cluster.status?.observedGeneration === generation &&
    (reconciled?.observedGeneration === undefined || reconciled.observedGeneration === generation)
  );
}

/**
 * Whether a rollout has ended. No single condition is enough: RollingOut is False for seconds between the stages of an
 * upgrade, and TopologyReconciled is True a second or two before the last old Machine is deleted. Workers without nodes
 * report no versions. For a control plane that reports none, TopologyReconciled decides: it is False while `status.version`, the
 * other field of the contract, is behind.
 */
function isConverged(cluster: CapiCluster): boolean {
  const { controlPlane, workers } = cluster.status ?? {};
  const desired = cluster.spec?.topology?.version;
  const versions = [...(controlPlane?.versions ?? []), ...(workers?.versions ?? [])];
  return (
    isObserved(cluster) &&
    isTrue(cluster, "TopologyReconciled") &&
    findCapiCondition(cluster, "RollingOut")?.status === "False" &&
    (controlPlane?.upgradePlan ?? []).length === 0 &&
    (workers?.upgradePlan ?? []).length === 0 &&
    isTrue(cluster, "ControlPlaneInitialized") &&
    versions.every((entry) => entry.version === desired)
  );
}

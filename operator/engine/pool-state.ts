import { explain } from "./explain.ts";
import {
  type EngineCondition,
  findEngineCondition,
  INTAKE_FINALIZERS,
  type Machine,
  type MachineDeployment,
} from "./kinds.ts";

/** What the engine says of one pool, in Marina's words. Absent counters = no news. */
export interface EnginePoolState {
  /** Of the MachineDeployment. */
  name: string;
  uid: string;
  /** Since when it is being deleted; undefined = it is not. */
  deletedAt: string | undefined;
  /**
   * Both of its controllers hold it. They put their finalizers on it one over the other in its first half second; deleted
   * then it can go before its MachineSet, and that, with its owner gone, is never let go (seen with Cluster API v1.14).
   */
  takenIn: boolean;
  /** The engine has acted on the MachineDeployment as it stands now. */
  observed: boolean;
  desired: number | undefined;
  nodes: number | undefined;
  readyNodes: number | undefined;
  upToDateNodes: number | undefined;
  rollingOut: boolean;
  /** The one version that all nodes run (no `v`); undefined while they differ or there are none. */
  version: string | undefined;
  selector: string | undefined;
  available: EngineCondition | undefined;
}

/** Reads a pool's MachineDeployment. */
export function readPool(deployment: MachineDeployment): EnginePoolState {
  const status = deployment.status;
  const versions = new Set((status?.versions ?? []).map((entry) => entry.version.replace(/^v/, "")));
  const [version] = versions;
  const { name, uid = "", deletionTimestamp, finalizers = [] } = deployment.metadata;
  return {
    name,
    uid,
    deletedAt: deletionTimestamp,
    takenIn: INTAKE_FINALIZERS.every((finalizer) => finalizers.includes(finalizer)),
    observed: status?.observedGeneration === deployment.metadata.generation,
    desired: deployment.spec?.replicas,
    nodes: status?.replicas,
    readyNodes: status?.readyReplicas,
    upToDateNodes: status?.upToDateReplicas,
    rollingOut: findEngineCondition(deployment, "RollingOut")?.status === "True",
    version: versions.size === 1 ? version : undefined,
    selector: status?.selector,
    available: findEngineCondition(deployment, "Available"),
  };
}

/** One machine of a pool, as the status of a NodePool shows it. */
export interface EngineMachine {
  name: string;
  uid: string;
  node: string | undefined;
  phase: string;
  ready: boolean;
  version: string | undefined;
  createdAt: string;
  deleting: boolean;
  /** The engine replaces it because it is not healthy, and why, in one word; undefined = it does not. */
  remediation: string | undefined;
  /** What it waits for while it has no node. */
  waitsFor: string | undefined;
  /** What its deletion waits for; undefined = it is not being deleted, or the engine says nothing of it. */
  deletion: string | undefined;
  /** Its node is not well, and since when; undefined for a machine that is starting or going away. */
  unhealthy: { since: string; reason: string; message: string } | undefined;
}

/** Reads a Machine. A sick one has a node, is not being deleted, and has NodeHealthy False or Unknown. */
export function readMachine(machine: Machine): EngineMachine {
  const node = machine.status?.nodeRef?.name;
  const deleting = machine.metadata.deletionTimestamp !== undefined;
  const health = findEngineCondition(machine, "NodeHealthy");
  const sick = node !== undefined && !deleting && health !== undefined && isSick(health) ? health : undefined;
  return {
    name: machine.metadata.name,
    uid: machine.metadata.uid ?? "",
    node,
    phase: machine.status?.phase ?? "Pending",
    ready: findEngineCondition(machine, "Ready")?.status === "True",
    version: machine.spec?.version?.replace(/^v/, ""),
    createdAt: machine.metadata.creationTimestamp ?? "",
    deleting,
    remediation: readRemediation(machine),
    waitsFor: node === undefined ? describeWait(machine) : undefined,
    deletion: deleting ? describeMachineDeletion(machine) : undefined,
    unhealthy: sick && {
      since: sick.lastTransitionTime,
      reason: sick.reason,
      message: sick.message ?? "",
    },
  };
}

/**
 * The engine writes OwnerRemediated on real remediations alone, for seconds; HealthCheckSucceeded False comes in ordinary
 * rollouts too and only tells why.
 */
function readRemediation(machine: Machine): string | undefined {
  const marker = findEngineCondition(machine, "OwnerRemediated");
  if (marker === undefined) return undefined;
  const check = findEngineCondition(machine, "HealthCheckSucceeded");
  return check?.status === "False" ? check.reason : marker.reason;
}

function describeWait(machine: Machine): string {
  const steps = ["InfrastructureReady", "BootstrapConfigReady", "NodeHealthy", "Ready"];
  const open = steps
    .map((type) => findEngineCondition(machine, type))
    .find((condition) => condition !== undefined && condition.status !== "True");
  return open === undefined ? "the engine has said nothing of it yet" : explain(open);
}

function describeMachineDeletion(machine: Machine): string | undefined {
  const condition = findEngineCondition(machine, "Deleting");
  return condition?.status === "True" ? explain(condition) : undefined;
}

function isSick(health: EngineCondition): boolean {
  return (
    (health.status === "False" && health.reason === "NodeNotHealthy") ||
    (health.status === "Unknown" && health.reason === "NodeHealthyUnknown")
  );
}

import { isDeepStrictEqual } from "node:util";
import { ANNOTATION_APPLIED, ANNOTATION_MACHINE_SIZE } from "../../shared/crd/names.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import {
  type CapiCondition,
  type CapiMachineTemplate,
  findCapiCondition,
  MACHINE_DEPLOYMENT_FINALIZERS,
  MACHINE_FINALIZER,
  type Machine,
  type MachineDeployment,
  type MachineSet,
} from "./kinds.ts";
import { explain } from "./tenant-messages.ts";
import { type DesiredPool, readMachineSize } from "./worker-pool.ts";

/** A busy Cluster API adds its finalizers of a pool within 0.6 s; a longer wait has another cause. */
export const FINALIZERS_WITHIN_MS = 30_000;

/** What Cluster API reports of one pool, in Marina's terms. Undefined counters are not reported at the moment. */
export interface MachineDeploymentState {
  /** Name of the MachineDeployment. */
  name: string;
  uid: string;
  /** Since when it is being deleted; undefined = it is not. */
  deletedAt: string | undefined;
  finalizers: readonly string[];
  /**
   * Both of its controllers have added their finalizers, which they do within its first half second, overwriting each other.
   * Deleted before that, it may end before its MachineSet, which then is never deleted (seen with Cluster API v1.14).
   */
  hasBothFinalizers: boolean;
  /** Cluster API has acted on the current generation of the MachineDeployment. */
  isGenerationObserved: boolean;
  /** The hash of the pool as it was applied (see hashDesiredPool); undefined = the operator has not applied it. */
  appliedHash: string | undefined;
  /** The number of nodes requested from Cluster API. */
  replicas: number | undefined;
  nodes: number | undefined;
  readyNodes: number | undefined;
  upToDateNodes: number | undefined;
  rollingOut: boolean;
  /** The one version that all nodes run (no `v`); undefined while they differ or there are none. */
  version: string | undefined;
  selector: string | undefined;
  available: CapiCondition | undefined;
}

/** Reads a pool's MachineDeployment. */
export function readMachineDeployment(machineDeployment: MachineDeployment): MachineDeploymentState {
  const status = machineDeployment.status;
  const versions = new Set((status?.versions ?? []).map((entry) => entry.version.replace(/^v/, "")));
  const [version] = versions;
  const { name, uid = "", deletionTimestamp, finalizers = [] } = machineDeployment.metadata;
  return {
    name,
    uid,
    deletedAt: deletionTimestamp,
    finalizers,
    hasBothFinalizers: MACHINE_DEPLOYMENT_FINALIZERS.every((finalizer) => finalizers.includes(finalizer)),
    isGenerationObserved: status?.observedGeneration === machineDeployment.metadata.generation,
    appliedHash: machineDeployment.metadata.annotations?.[ANNOTATION_APPLIED],
    replicas: machineDeployment.spec?.replicas,
    nodes: status?.replicas,
    readyNodes: status?.readyReplicas,
    upToDateNodes: status?.upToDateReplicas,
    rollingOut: findCapiCondition(machineDeployment, "RollingOut")?.status === "True",
    version: versions.size === 1 ? version : undefined,
    selector: status?.selector,
    available: findCapiCondition(machineDeployment, "Available"),
  };
}

/**
 * The size of the machines that a MachineDeployment makes now: Cluster API writes the annotation together with the template, in
 * one write. Undefined = an earlier version of the operator has applied the pool.
 */
export function readTemplateSize({ metadata }: MachineDeployment): DesiredPool["machineSize"] | undefined {
  const text = metadata.annotations?.[ANNOTATION_MACHINE_SIZE];
  try {
    return text === undefined ? undefined : readMachineSize(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** How far the deletion of a machine is: its stage, and why it is not further. */
export interface MachineDeletion {
  stage: "drain" | "volumes" | "infrastructure" | "other";
  cause: string;
}

/** One machine of a pool, as the status of a NodePool shows it. */
export interface MachineState {
  name: string;
  uid: string;
  /** The size that its template gives it; undefined = not known. */
  size: DesiredPool["machineSize"] | undefined;
  node: string | undefined;
  /** Its infrastructure exists, whatever the tenant does to its Node. */
  provisioned: boolean;
  phase: string;
  ready: boolean;
  version: string | undefined;
  /** The hash of the pool that it was given (see hashDesiredPool); an outdated one is given it as well. */
  appliedHash: string | undefined;
  /** Cluster API replaces it in a rollout; undefined = not known yet. */
  outdated: boolean | undefined;
  createdAt: string;
  deleting: boolean;
  /** The reason for which Cluster API replaces it as unhealthy; undefined = it does not. */
  remediation: string | undefined;
  /** What it waits for while it has no node. */
  waitsFor: string | undefined;
  /** What its deletion waits for; undefined = it is not being deleted, or Cluster API does not report it. */
  deletion: MachineDeletion | undefined;
  /** Its node is unhealthy, and since when; undefined for a machine that is starting or being deleted. */
  unhealthy: { since: string; reason: string; message: string } | undefined;
}

/** Reads the Machines of one MachineDeployment and its MachineSets, whose templates give them their size. */
export function readMachines(
  machines: readonly Machine[],
  machineDeployment: MachineDeployment | undefined,
  sets: readonly MachineSet[],
  findSize: (set: MachineSet) => DesiredPool["machineSize"] | undefined,
): MachineState[] {
  return machines.map((machine) => {
    const set = findMachineSet(machine, sets);
    return readMachine(machine, isOfOtherTemplate(machine, machineDeployment, sets), set && findSize(set));
  });
}

/** Reads a Machine. An unhealthy one has a node, is not being deleted, and has NodeHealthy False or Unknown. */
export function readMachine(
  machine: Machine,
  isOfOtherTemplate: boolean | undefined,
  size?: DesiredPool["machineSize"],
): MachineState {
  const node = machine.status?.nodeRef?.name;
  const deleting = machine.metadata.deletionTimestamp !== undefined;
  const health = findCapiCondition(machine, "NodeHealthy");
  const unhealthy =
    node !== undefined && !deleting && health !== undefined && isUnhealthy(health) ? health : undefined;
  return {
    name: machine.metadata.name,
    uid: machine.metadata.uid ?? "",
    size,
    node,
    provisioned: machine.spec?.providerID !== undefined,
    phase: machine.status?.phase ?? "Pending",
    ready: findCapiCondition(machine, "Ready")?.status === "True",
    version: machine.spec?.version?.replace(/^v/, ""),
    appliedHash: machine.metadata.annotations?.[ANNOTATION_APPLIED],
    outdated: findCapiCondition(machine, "UpToDate")?.status === "False" || isOfOtherTemplate,
    createdAt: machine.metadata.creationTimestamp ?? "",
    deleting,
    remediation: readRemediation(machine),
    waitsFor: node === undefined ? describeWait(machine) : undefined,
    deletion: deleting ? readMachineDeletion(machine) : undefined,
    unhealthy: unhealthy && {
      since: unhealthy.lastTransitionTime,
      reason: unhealthy.reason,
      message: unhealthy.message ?? "",
    },
  };
}

/**
 * Cluster API sets OwnerRemediated for seconds, and only in a remediation; HealthCheckSucceeded is False in ordinary rollouts
 * too, and only explains why.
 */
function readRemediation(machine: Machine): string | undefined {
  const marker = findCapiCondition(machine, "OwnerRemediated");
  if (marker === undefined) return undefined;
  const check = findCapiCondition(machine, "HealthCheckSucceeded");
  return check?.status === "False" ? check.reason : marker.reason;
}

function describeWait(machine: Machine): string {
  const stages = ["InfrastructureReady", "BootstrapConfigReady", "NodeHealthy", "Ready"];
  const open = stages
    .map((type) => findCapiCondition(machine, type))
    .find((condition) => condition !== undefined && condition.status !== "True");
  return open === undefined ? "Cluster API has not reported a reason yet" : explain(open);
}

/** By the reasons of the condition Deleting of a Machine in Cluster API v1.14. */
const DELETION_STAGES: Readonly<Record<string, MachineDeletion["stage"]>> = {
  DrainingNode: "drain",
  WaitingForVolumeDetach: "volumes",
  WaitingForInfrastructureDeletion: "infrastructure",
  WaitingForBootstrapDeletion: "infrastructure",
  DeletionCompleted: "infrastructure",
};

function readMachineDeletion(machine: Machine): MachineDeletion | undefined {
  const condition = findCapiCondition(machine, "Deleting");
  if (condition?.status !== "True") return undefined;
  // Cluster API says so before it removes its own finalizer: then the machine is as good as deleted.
  const { finalizers = [] } = machine.metadata;
  if (condition.reason === "DeletionCompleted" && finalizers.some((it) => it !== MACHINE_FINALIZER))
    return { stage: "other", cause: "another controller does not release its machine yet" };
  return { stage: DELETION_STAGES[condition.reason] ?? "other", cause: explain(condition) };
}

function isUnhealthy(health: CapiCondition): boolean {
  return (
    (health.status === "False" && health.reason === "NodeNotHealthy") ||
    (health.status === "Unknown" && health.reason === "NodeHealthyUnknown")
  );
}

/**
 * Whether Cluster API replaces a machine because the template has changed, by its own `MachineTemplateUpToDate`: the
 * hash is written in place on such machines too. Undefined = not known yet, for caches follow each other by
 * chance: a MachineSet is not seen, or the newest one differs, which may be seen before its MachineDeployment.
 */
export function isOfOtherTemplate(
  machine: Machine,
  machineDeployment: MachineDeployment | undefined,
  sets: readonly MachineSet[],
): boolean | undefined {
  const owner = machine.metadata.ownerReferences?.find(({ kind }) => kind === "MachineSet");
  if (owner === undefined || machineDeployment === undefined) return false;
  const set = sets.find(({ metadata }) => metadata.uid === owner.uid);
  if (set === undefined) return undefined;
  if (isDeepStrictEqual(pickTemplate(set)?.spec, pickTemplate(machineDeployment)?.spec)) return false;
  const createdAt = (it: MachineSet) => it.metadata.creationTimestamp ?? "";
  return sets.some((other) => createdAt(other) > createdAt(set)) ? true : undefined;
}

/** The MachineSet of a machine; undefined = it has none, or it is not seen yet. */
export function findMachineSet(machine: Machine, sets: readonly MachineSet[]): MachineSet | undefined {
  const owner = machine.metadata.ownerReferences?.find(({ kind }) => kind === "MachineSet");
  return owner && sets.find(({ metadata }) => metadata.uid === owner.uid);
}

/** The part of a template that decides about replacements. */
export function pickTemplate({
  spec,
}: MachineDeployment | MachineSet): { spec: CapiMachineTemplate } | undefined {
  const template = spec?.template?.spec;
  if (template === undefined) return undefined;
  const { version, failureDomain, infrastructureRef, bootstrap } = template;
  return {
    spec: {
      ...(version !== undefined && { version }),
      ...(failureDomain !== undefined && { failureDomain }),
      ...(infrastructureRef && { infrastructureRef }),
      ...(bootstrap?.configRef && { bootstrap: { configRef: bootstrap.configRef } }),
    },
  };
}

/** More templates than a fleet has at a time: each change of a pool's machines makes one. */
const MAX_TEMPLATES = 100_000;

export interface TemplateSizes {
  /** Reads from every version of a MachineDeployment which template makes machines of which size. */
  observe(change: Change<MachineDeployment>): void;
  /**
   * The size of the machines of this MachineSet; undefined = its template was not seen while it was the current one.
   */
  find(set: MachineSet): DesiredPool["machineSize"] | undefined;
}

/**
 * Which size the machines of a template have, for as long as the process runs. Cluster API writes the size of a pool in
 * place on the objects of its former templates too, but gives each template a name of its own.
 */
export function createTemplateSizes(maxTemplates = MAX_TEMPLATES): TemplateSizes {
  /** Those first that were the current ones the longest time ago. */
  const sizes = new Map<string, DesiredPool["machineSize"]>();

  return {
    observe({ type, object }) {
      const key = toTemplateKey(object);
      const size = readTemplateSize(object);
      if (key === undefined || size === undefined || type === "deleted") return;
      sizes.delete(key);
      sizes.set(key, size);
      const [oldest] = sizes.keys();
      if (sizes.size > maxTemplates && oldest !== undefined) sizes.delete(oldest);
    },
    find(set) {
      const key = toTemplateKey(set);
      return key === undefined ? undefined : sizes.get(key);
    },
  };
}

function toTemplateKey({ metadata, spec }: MachineDeployment | MachineSet): string | undefined {
  const { infrastructureRef } = spec?.template?.spec ?? {};
  return infrastructureRef && `${metadata.namespace} ${infrastructureRef.kind} ${infrastructureRef.name}`;
}

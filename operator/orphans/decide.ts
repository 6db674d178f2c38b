import type { Step } from "../../shared/controller/plan.ts";
import type { JsonPatchOperation } from "../../shared/kube/client.ts";
import type { Kind, KubeObject, ObjectMeta, OwnerReference } from "../../shared/kube/kind.ts";
import {
  LABEL_CAPI_DEPLOYMENT,
  MACHINE_DEPLOYMENT_FINALIZERS,
  MACHINE_SET_FINALIZERS,
  machineDeploymentKind,
  machineKind,
  machineSetKind,
} from "../capi/kinds.ts";

/**
 * The worker objects of one Cluster API cluster, by uncached reads: the lower ones first, so that no owner of one is missed.
 */
export interface WorkerObjects {
  machines: readonly KubeObject[];
  machineSets: readonly KubeObject[];
  machineDeployments: readonly KubeObject[];
  /** Whether Cluster API's Cluster exists, with any owner. */
  hasCapiCluster: boolean;
}

/** What is left of a deletion that Cluster API does not continue. */
export interface Orphans {
  remove: Step[];
  /** Machines without their MachineSet, MachineSets without a MachineDeployment, MachineDeployments without a Cluster. */
  found: boolean;
}

/**
 * What Cluster API v1.14 never continues by itself: a Machine being deleted whose MachineSet does not exist, since its
 * controller fails as long as an ownerReference names one (getOwnerMachineSet of its machine_controller.go); likewise a
 * MachineSet whose MachineDeployment does not exist, as long as its label names one; and, once their Cluster does not
 * exist, MachineSets and MachineDeployments that nothing belongs to. Only finalizers of Cluster API itself are removed.
 */
export function decideOrphans(objects: WorkerObjects): Orphans {
  const { machines, machineSets, machineDeployments, hasCapiCluster } = objects;
  const uids = new Set(machineDeployments.map(({ metadata }) => metadata.uid));
  const sets = machineSets.filter(({ metadata }) => {
    const owner = findOwner(metadata, machineDeploymentKind);
    return owner !== undefined && !uids.has(owner.uid);
  });
  if (hasCapiCluster) {
    const freeMachines = findFreeMachines(machines, machineSets);
    const remove = [...freeMachines.map(detachMachine), ...sets.flatMap(detachMachineSet)];
    return { remove, found: freeMachines.length > 0 || sets.length > 0 };
  }
  const freeSets = sets.filter(({ metadata }) => !isOwner(metadata, machineSetKind, machines));
  const freeMachineDeployments = machineDeployments.filter(
    ({ metadata }) => !isOwner(metadata, machineDeploymentKind, machineSets),
  );
  const remove = [
    ...freeSets.flatMap((set) => removeObject(machineSetKind, set, MACHINE_SET_FINALIZERS)),
    ...freeMachineDeployments.flatMap((it) =>
      removeObject(machineDeploymentKind, it, MACHINE_DEPLOYMENT_FINALIZERS),
    ),
  ];
  return { remove, found: sets.length > 0 || machineDeployments.length > 0 };
}

/** Machines being deleted that name a MachineSet which does not exist: they were made while the MachineSet was removed. */
function findFreeMachines(
  machines: readonly KubeObject[],
  machineSets: readonly KubeObject[],
): readonly KubeObject[] {
  const uids = new Set(machineSets.map(({ metadata }) => metadata.uid));
  return machines.filter(({ metadata }) => {
    const owner = findOwner(metadata, machineSetKind);
    return metadata.deletionTimestamp !== undefined && owner !== undefined && !uids.has(owner.uid);
  });
}

/** Makes it one without a MachineSet: Cluster API then deletes it as one that belongs to the Cluster. */
function detachMachine(machine: KubeObject): Step {
  const { ownerReferences = [] } = machine.metadata;
  const owner = findOwner(machine.metadata, machineSetKind);
  const index = ownerReferences.findIndex(({ uid }) => uid === owner?.uid);
  return patchOut(machineKind, machine, `/metadata/ownerReferences/${index}`, owner);
}

/**
 * Deletes it, then makes it one without a MachineDeployment: Cluster API deletes its Machines and templates, and it.
 */
function detachMachineSet(set: KubeObject): Step[] {
  if (set.metadata.deletionTimestamp === undefined) return [deleteObject(machineSetKind, set)];
  const name = set.metadata.labels?.[LABEL_CAPI_DEPLOYMENT];
  if (name === undefined) return [];
  return [
    patchOut(machineSetKind, set, `/metadata/labels/${LABEL_CAPI_DEPLOYMENT.replace("/", "~1")}`, name),
  ];
}

/** Deletes an object, or removes the first of these finalizers from one that is being deleted. */
function removeObject(kind: Kind<KubeObject>, object: KubeObject, finalizers: readonly string[]): Step[] {
  if (object.metadata.deletionTimestamp === undefined) return [deleteObject(kind, object)];
  const held = object.metadata.finalizers ?? [];
  const index = held.findIndex((finalizer) => finalizers.includes(finalizer));
  return index < 0 ? [] : [patchOut(kind, object, `/metadata/finalizers/${index}`, held[index])];
}

function deleteObject(kind: Kind<KubeObject>, { metadata }: KubeObject): Step {
  const { namespace = "", name, uid } = metadata;
  return { verb: "delete", kind, namespace, name, uid };
}

/** Removes one value, unless the object or the value is another one by then. */
function patchOut(kind: Kind<KubeObject>, { metadata }: KubeObject, path: string, value: unknown): Step {
  const { namespace = "", name, uid } = metadata;
  const operations: JsonPatchOperation[] = [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "test", path, value },
    { op: "remove", path },
  ];
  return { verb: "patch", kind, namespace, name, operations };
}

function isOwner({ uid }: ObjectMeta, kind: Kind<KubeObject>, objects: readonly KubeObject[]): boolean {
  return objects.some(({ metadata }) => findOwner(metadata, kind)?.uid === uid);
}

function findOwner(
  { ownerReferences = [] }: ObjectMeta,
  { group, kind }: Kind<KubeObject>,
): OwnerReference | undefined {
  return ownerReferences.find(
    (owner) => owner.kind === kind && owner.controller === true && owner.apiVersion.startsWith(`${group}/`),
  );
}

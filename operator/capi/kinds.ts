import { defineKind, type KubeObject, type ObjectMeta } from "../../shared/kube/kind.ts";
import { toKey } from "../../shared/kube/object.ts";

const GROUP = "cluster.x-k8s.io";
const CAPI = { group: GROUP, version: "v1beta2", namespaced: true } as const;

/** Selects the objects of Cluster API's core manager, as its release labels them. */
export const CORE_PROVIDER_SELECTOR = "cluster.x-k8s.io/provider=cluster-api";

/** On every object that belongs to a cluster of Cluster API. */
export const LABEL_CAPI_CLUSTER = "cluster.x-k8s.io/cluster-name";
/** On the MachineDeployments and Machines of an entry of the topology: the entry's name. */
export const LABEL_CAPI_POOL = "topology.cluster.x-k8s.io/deployment-name";

/** On a MachineSet that a MachineDeployment made: the name of that. */
export const LABEL_CAPI_DEPLOYMENT = "cluster.x-k8s.io/deployment-name";
/**
 * The labels of its machine that Cluster API has set on a node, with commas. Source: machine_controller_noderef.go,
 * v1.14.
 */
export const ANNOTATION_SYNCED_LABELS = "cluster.x-k8s.io/labels-from-machine";

/** The finalizers that the controllers of a MachineDeployment add once they have registered it. */
export const MACHINE_DEPLOYMENT_FINALIZERS = [
  "cluster.x-k8s.io/machinedeployment",
  "machinedeployment.topology.cluster.x-k8s.io",
];
/** The finalizers of the controllers of a MachineSet: one deletes its Machines, one its templates. */
export const MACHINE_SET_FINALIZERS = ["cluster.x-k8s.io/machineset", "machineset.topology.cluster.x-k8s.io"];

/** The finalizer of the controller of a Machine. */
export const MACHINE_FINALIZER = "machine.cluster.x-k8s.io";

/** A condition as Cluster API writes it (metav1.Condition). */
export interface CapiCondition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message?: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

export interface CapiVariable {
  name: string;
  value: unknown;
}

export interface CapiTaint {
  key: string;
  value?: string;
  effect: string;
  propagation: "Always" | "OnInitialization";
}

/** Which machines are unhealthy, and up to how many of them are replaced. */
export interface CapiHealthCheck {
  checks?: { nodeStartupTimeoutSeconds?: number };
  remediation?: { triggerIf?: { unhealthyLessThanOrEqualTo?: number | string; unhealthyInRange?: string } };
}

/** In seconds; unset is without end. */
export interface CapiDeletion {
  nodeDrainTimeoutSeconds?: number;
  nodeVolumeDetachTimeoutSeconds?: number;
  nodeDeletionTimeoutSeconds?: number;
}

/** An entry of `spec.topology.workers.machineDeployments`. */
export interface MachineDeploymentTopology {
  class: string;
  name: string;
  replicas?: number;
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  deletion?: CapiDeletion;
  healthCheck?: CapiHealthCheck;
  taints?: CapiTaint[];
  variables?: { overrides: CapiVariable[] };
}

export interface CapiTopology {
  classRef: { name: string; namespace?: string };
  version: string;
  controlPlane?: { replicas?: number; deletion?: CapiDeletion };
  variables?: CapiVariable[];
  workers?: { machineDeployments?: MachineDeploymentTopology[] };
}

/** Cluster API's networks of a cluster, the fields that Marina reads and writes. */
export interface CapiNetwork {
  pods?: { cidrBlocks?: string[] };
  services?: { cidrBlocks?: string[] };
}

interface CapiRollout {
  versions?: { version: string; replicas?: number }[];
  upgradePlan?: unknown[];
}

/** Cluster API's Cluster, the fields that Marina reads and writes. */
export interface CapiCluster extends KubeObject {
  spec?: {
    paused?: boolean;
    controlPlaneEndpoint?: { host?: string; port?: number };
    clusterNetwork?: CapiNetwork;
    infrastructureRef?: CapiReference;
    topology?: CapiTopology;
  };
  status?: {
    observedGeneration?: number;
    phase?: string;
    conditions?: CapiCondition[];
    controlPlane?: CapiRollout;
    workers?: CapiRollout;
  };
}

interface CapiReference {
  apiGroup?: string;
  kind?: string;
  name?: string;
}

/** What Cluster API replaces machines for when it changes; everything else of a template it changes in place. */
export interface CapiMachineTemplate {
  version?: string;
  failureDomain?: string;
  infrastructureRef?: CapiReference;
  bootstrap?: { configRef?: CapiReference };
}

export interface MachineDeployment extends KubeObject {
  spec?: { clusterName?: string; replicas?: number; template?: { spec?: CapiMachineTemplate } };
  status?: {
    observedGeneration?: number;
    selector?: string;
    replicas?: number;
    readyReplicas?: number;
    upToDateReplicas?: number;
    versions?: { version: string; replicas?: number }[];
    conditions?: CapiCondition[];
  };
}

/** The machines of a MachineDeployment that were made from one template. Its template never changes. */
export interface MachineSet extends KubeObject {
  spec?: { template?: { spec?: CapiMachineTemplate } };
}

export interface Machine extends KubeObject {
  spec?: {
    clusterName?: string;
    version?: string;
    infrastructureRef?: CapiReference;
    /** Set once the infrastructure exists, and never removed. */
    providerID?: string;
  };
  status?: {
    phase?: string;
    nodeRef?: { name?: string };
    conditions?: CapiCondition[];
  };
}

export interface ClusterClass extends KubeObject {
  spec?: {
    variables?: ({ name: string } & ClassVariable)[];
    infrastructure?: { templateRef?: { apiVersion?: string; kind?: string } };
    controlPlane?: { machineInfrastructure?: object };
    workers?: { machineDeployments?: { class: string; healthCheck?: CapiHealthCheck }[] };
    kubernetesVersions?: string[];
  };
  /** Those of its specification, and of the extensions of external patches. */
  status?: { variables?: { name: string; definitions?: ClassVariable[] }[] };
}

/** What a ClusterClass, or an extension of it, says of a variable. */
interface ClassVariable {
  schema?: { openAPIV3Schema?: { maxItems?: number } };
}

export const capiClusterKind = defineKind<CapiCluster>({ ...CAPI, kind: "Cluster", plural: "clusters" });

export const machineDeploymentKind = defineKind<MachineDeployment>({
  ...CAPI,
  kind: "MachineDeployment",
  plural: "machinedeployments",
});

export const machineSetKind = defineKind<MachineSet>({ ...CAPI, kind: "MachineSet", plural: "machinesets" });

export const machineKind = defineKind<Machine>({ ...CAPI, kind: "Machine", plural: "machines" });

export const clusterClassKind = defineKind<ClusterClass>({
  ...CAPI,
  kind: "ClusterClass",
  plural: "clusterclasses",
});

/** The condition of this type, if Cluster API has written it. */
export function findCapiCondition(
  object: { status?: { conditions?: CapiCondition[] } } | undefined,
  type: string,
): CapiCondition | undefined {
  return object?.status?.conditions?.find((condition) => condition.type === type);
}

/** Whether an API group is Cluster API's own or that of a provider that follows its naming. */
export function isCapiGroup(group: string): boolean {
  return group === GROUP || group.endsWith(`.${GROUP}`);
}

/** Whether a kind of Cluster API is about the machines of a cluster, not about the cluster as a whole. */
export function isMachineKind(kind: string): boolean {
  return ["Machine", "MachineSet", "MachineDeployment", "MachineHealthCheck"].includes(kind);
}

/** The cluster that an object of Cluster API belongs to, by its label. */
export function capiClusterNameOf(metadata: ObjectMeta): string | undefined {
  return metadata.labels?.[LABEL_CAPI_CLUSTER];
}

/** The entry of the topology that an object belongs to; undefined for the control plane's. */
export function capiPoolNameOf(metadata: ObjectMeta): string | undefined {
  return metadata.labels?.[LABEL_CAPI_POOL];
}

/** A Machine under "namespace/kind/name" of its infrastructure object, by which its Events find their cluster. */
export function indexByInfrastructure(machine: Machine): string[] {
  const reference = machine.spec?.infrastructureRef;
  if (reference?.name === undefined) return [];
  return [toKey(machine.metadata.namespace, toKey(reference.kind, reference.name))];
}

/**
 * Whether a label reaches nodes in any case, besides node roles. Source: "metadata propagation" in Cluster API's book.
 */
export function isReservedForNodes(label: string): boolean {
  return /^([^/]+\.)?(node-restriction\.kubernetes\.io|node\.cluster\.x-k8s\.io)\//.test(label);
}

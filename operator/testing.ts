import type { MetadataChange } from "../shared/controller/plan.ts";
import {
  ANNOTATION_APPLIED,
  ANNOTATION_IDENTITY,
  API_VERSION,
  FINALIZER,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../shared/crd/names.ts";
import type { NodePool, NodePoolSpec } from "../shared/crd/node-pool.ts";
import type { ObjectMeta } from "../shared/kube/kind.ts";
import { readClusterClass } from "./capi/cluster-class.ts";
import { type CapiCondition, MACHINE_DEPLOYMENT_FINALIZERS, type Machine } from "./capi/kinds.ts";
import type { MachineDeploymentState, MachineState } from "./capi/pool-state.ts";
import { readMachine, readMachineDeployment } from "./capi/pool-state.ts";
import { hashDesiredPool } from "./capi/worker-pool.ts";
import type { ClusterSettings } from "./cluster/observe.ts";
import { composeDesiredPool } from "./node-pool/children.ts";
import { parseSubnetRange } from "./subnets/range.ts";

export const START = new Date("2026-01-01T00:00:00Z");
export const ORG = "0193a0f0-0000-7000-8000-0000000000aa";
export const NAMESPACE = `org-${ORG}`;
export const CLUSTER_ID = "019b76da-a800-7000-8000-0000000000c1";
export const POOL_ID = "019b76da-a800-7000-8000-0000000000b1";

export const ALL_VARIABLES = [
  "plan",
  "publicEndpoint",
  "authorizedCIDRs",
  "apiServerRateLimit",
  "workerSubnet",
  "machine",
];

export const settings: ClusterSettings = {
  platformNamespace: "marina-system",
  servicePlans: {
    default: { class: "standard-v1", namespace: "marina-system", controlPlaneReplicas: 1 },
    production: { class: "standard-v1", namespace: "marina-system", controlPlaneReplicas: 3 },
  },
  subnetRange: parseSubnetRange("10.64.0.0/10"),
  platformCIDRs: ["192.0.2.0/24"],
  clusterNetwork: { pods: ["192.168.0.0/16"], services: ["10.128.0.0/12"] },
  poolDefaults: {
    drainTimeoutSeconds: 600,
    scaleDownDelaySeconds: 600,
    scaleDownUtilizationPercent: 50,
    volumeDetachTimeoutSeconds: 60,
    nodeDeletionTimeoutSeconds: 10,
  },
  degradedAfterSeconds: 60,
  nodeDegradedAfterSeconds: 300,
  reportWaitAfterSeconds: 55,
};

export function makeClass(variables: string[] = ALL_VARIABLES, kubernetesVersions: string[] = []) {
  const annotations = { "cloud.marina.dev/infrastructure-names": "per-namespace" };
  return readClusterClass({
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "ClusterClass",
    metadata: { name: "standard-v1", namespace: "marina-system", annotations },
    spec: {
      variables: variables.map((name) => ({ name })),
      controlPlane: { machineInfrastructure: {} },
      workers: { machineDeployments: [{ class: "default" }] },
      kubernetesVersions,
    },
  });
}

export function makePool(
  name: string,
  spec: Partial<NodePoolSpec> = {},
  metadata: Partial<ObjectMeta> = {},
): NodePool {
  return {
    apiVersion: API_VERSION,
    kind: "NodePool",
    metadata: {
      name,
      namespace: NAMESPACE,
      uid: `uid-${name}`,
      generation: 1,
      resourceVersion: "1",
      creationTimestamp: START.toISOString(),
      finalizers: [FINALIZER],
      labels: { [LABEL_ID]: POOL_ID, [LABEL_ORG_ID]: ORG },
      annotations: { [ANNOTATION_IDENTITY]: "new" },
      ...metadata,
    },
    spec: {
      clusterName: "demo",
      vcpus: 2,
      memoryGB: 4,
      diskGB: 20,
      minNodes: 0,
      maxNodes: 10,
      desiredNodes: 2,
      ...spec,
    },
  };
}

export function makeCondition(
  type: string,
  status: CapiCondition["status"],
  more: Partial<CapiCondition> = {},
) {
  return { type, status, reason: "Seen", lastTransitionTime: START.toISOString(), ...more };
}

/** The hash of a pool of `makePool`, as it is applied. */
export function hashOfPool(spec: Partial<NodePoolSpec> = {}): string {
  return hashDesiredPool(composeDesiredPool(makePool("web", spec), settings.poolDefaults));
}

/** Cluster API's state of a pool that has all its nodes. */
export function capiPoolWith(counts: {
  desired: number;
  nodes?: number;
  ready?: number;
  rollingOut?: boolean;
  version?: string;
  applied?: string;
  isGenerationObserved?: boolean;
}): MachineDeploymentState {
  const { applied = hashOfPool(), isGenerationObserved = true } = counts;
  const { desired, nodes = desired, ready = nodes, rollingOut = false, version = "1.34.2" } = counts;
  return readMachineDeployment({
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "MachineDeployment",
    metadata: {
      name: "demo-web-x",
      namespace: NAMESPACE,
      generation: 3,
      annotations: { [ANNOTATION_APPLIED]: applied },
      finalizers: MACHINE_DEPLOYMENT_FINALIZERS,
    },
    spec: { replicas: desired },
    status: {
      observedGeneration: isGenerationObserved ? 3 : 2,
      replicas: nodes,
      readyReplicas: ready,
      upToDateReplicas: nodes,
      versions: [{ version: `v${version}` }],
      conditions: [makeCondition("RollingOut", rollingOut ? "True" : "False")],
    },
  });
}

export function makeMachine(
  name: string,
  status: Machine["status"] = {},
  {
    applied = hashOfPool(),
    isOfOtherTemplate = false,
    size = undefined as MachineState["size"],
    providerID = undefined as string | undefined,
  } = {},
) {
  const machine = {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Machine",
    metadata: {
      name,
      namespace: NAMESPACE,
      uid: `uid-${name}`,
      creationTimestamp: START.toISOString(),
      annotations: { [ANNOTATION_APPLIED]: applied },
    },
    spec: { version: "v1.34.2", ...(providerID !== undefined && { providerID }) },
    status: { phase: "Running", nodeRef: { name: `node-${name}` }, ...status },
  };
  return readMachine(machine, isOfOtherTemplate, size);
}

/** The metadata after the change of a plan was written. */
export function changeMetadata(metadata: ObjectMeta, change: MetadataChange = {}): ObjectMeta {
  const { labels, annotations, dropAnnotations = [], finalizer } = change;
  const marks = Object.entries({ ...metadata.annotations, ...annotations }).filter(
    ([name]) => !dropAnnotations.includes(name),
  );
  return {
    ...metadata,
    labels: { ...metadata.labels, ...labels },
    annotations: Object.fromEntries(marks),
    finalizers: [...(metadata.finalizers ?? []), ...(finalizer === undefined ? [] : [finalizer])],
  };
}

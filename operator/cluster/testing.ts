import type { Cluster, ClusterSpec } from "../../shared/crd/cluster.ts";
import { ANNOTATION_IDENTITY, FINALIZER, LABEL_ID, LABEL_ORG_ID } from "../../shared/crd/names.ts";
import type { NodePool, NodePoolSpec } from "../../shared/crd/node-pool.ts";
import type { ClassCapabilities } from "../capi/cluster-class.ts";
import type { CapiCluster, CapiCondition, CapiNetwork } from "../capi/kinds.ts";
import type { MachineDeploymentState, MachineState } from "../capi/pool-state.ts";
import { decideOwnership } from "../identity/ownership.ts";
import { parseSubnetRange } from "../subnets/range.ts";
import { hashOfPool, settings } from "../testing.ts";
import type { ObservedCluster, ObservedClusterPool } from "./observe.ts";

/** The current time in all table tests. */
export const NOW = new Date("2026-03-01T12:00:00Z");
export const CLUSTER_ID = "0195a000-0000-7000-8000-000000000001";
export const POOL_ID = "0195a000-0000-7000-8000-000000000002";
const ORGANIZATION_ID = "0195a000-0000-4000-8000-000000000003";
export const NAMESPACE = `org-${ORGANIZATION_ID}`;

/** RFC 3339, so many seconds before NOW. */
export function secondsAgo(seconds: number): string {
  return new Date(NOW.getTime() - seconds * 1000).toISOString().replace(".000Z", "Z");
}

export function aCluster(spec: Partial<ClusterSpec> = {}, rest: Partial<Cluster> = {}): Cluster {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "Cluster",
    metadata: {
      name: "blue",
      namespace: NAMESPACE,
      uid: "cluster-uid",
      generation: 1,
      creationTimestamp: secondsAgo(3600),
      labels: { [LABEL_ID]: CLUSTER_ID, [LABEL_ORG_ID]: ORGANIZATION_ID },
      annotations: { [ANNOTATION_IDENTITY]: "new cluster-uid" },
      finalizers: [FINALIZER],
    },
    spec: { version: "1.34", publicEndpoint: true, ...spec },
    ...rest,
  };
}

export function aPool(spec: Partial<NodePoolSpec> = {}, rest: Partial<NodePool> = {}): NodePool {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "NodePool",
    metadata: {
      name: "general",
      namespace: NAMESPACE,
      uid: "pool-uid",
      generation: 1,
      creationTimestamp: secondsAgo(3600),
      labels: { [LABEL_ID]: POOL_ID, [LABEL_ORG_ID]: ORGANIZATION_ID },
      annotations: { [ANNOTATION_IDENTITY]: "new pool-uid" },
      finalizers: [FINALIZER],
    },
    spec: {
      clusterName: "blue",
      vcpus: 2,
      memoryGB: 4,
      diskGB: 20,
      minNodes: 0,
      maxNodes: 10,
      desiredNodes: 2,
      ...spec,
    },
    ...rest,
  };
}

export function aMachine(name: string, rest: Partial<MachineState> = {}): MachineState {
  return {
    outdated: false,
    name,
    uid: `${name}-uid`,
    size: undefined,
    node: `${name}-node`,
    provisioned: true,
    phase: "Running",
    ready: true,
    version: "1.34.2",
    appliedHash: hashOfPool(),
    createdAt: secondsAgo(3000),
    deleting: false,
    remediation: undefined,
    waitsFor: undefined,
    deletion: undefined,
    unhealthy: undefined,
    ...rest,
  };
}

/** Cluster API's state of a pool with its two nodes. */
export function aPoolState(rest: Partial<MachineDeploymentState> = {}): MachineDeploymentState {
  return {
    name: "demo-general-x",
    uid: "demo-general-uid",
    deletedAt: undefined,
    finalizers: [],
    hasBothFinalizers: true,
    isGenerationObserved: true,
    appliedHash: hashOfPool(),
    replicas: 2,
    nodes: 2,
    readyNodes: 2,
    upToDateNodes: 2,
    rollingOut: false,
    version: "1.34.2",
    selector: "pool=general",
    available: undefined,
    ...rest,
  };
}

export function aCondition(
  type: string,
  status: CapiCondition["status"],
  reason = type,
  message = "",
): CapiCondition {
  return { type, status, reason, message, lastTransitionTime: secondsAgo(600), observedGeneration: 1 };
}

const CONVERGED = [
  aCondition("Available", "True"),
  aCondition("TopologyReconciled", "True"),
  aCondition("InfrastructureReady", "True"),
  aCondition("ControlPlaneInitialized", "True"),
  aCondition("ControlPlaneAvailable", "True"),
  aCondition("RemoteConnectionProbe", "True"),
  aCondition("RollingOut", "False"),
];

export interface CapiFacts {
  version?: string;
  /** Replace the conditions of the same type; the others are healthy. */
  conditions?: CapiCondition[];
  controlPlane?: string[];
  workers?: string[];
  metadata?: Partial<CapiCluster["metadata"]>;
  variables?: { name: string; value: unknown }[];
  clusterNetwork?: CapiNetwork;
  observedGeneration?: number;
}

/** Cluster API's Cluster of `aCluster`, running and converged by default. Versions without `v`. */
export function anCapiCluster(facts: CapiFacts = {}): CapiCluster {
  const version = facts.version ?? "1.34.2";
  const versions = (list: string[]) => list.map((entry) => ({ version: `v${entry}`, replicas: 1 }));
  const named = new Map((facts.conditions ?? []).map((condition) => [condition.type, condition]));
  const others = CONVERGED.filter(({ type }) => !named.has(type));
  return {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Cluster",
    metadata: {
      name: "blue",
      namespace: NAMESPACE,
      uid: "capi-uid",
      generation: 1,
      labels: { [LABEL_ID]: CLUSTER_ID },
      ownerReferences: [
        {
          apiVersion: "cloud.marina.dev/v1",
          kind: "Cluster",
          name: "blue",
          uid: "cluster-uid",
          controller: true,
        },
      ],
      ...facts.metadata,
    },
    spec: {
      controlPlaneEndpoint: { host: "203.0.113.7", port: 6443 },
      ...(facts.clusterNetwork && { clusterNetwork: facts.clusterNetwork }),
      topology: {
        controlPlane: { replicas: 1 },
        classRef: { name: "standard-v1", namespace: "marina-system" },
        version: `v${version}`,
        variables: facts.variables ?? [],
      },
    },
    status: {
      observedGeneration: facts.observedGeneration ?? 1,
      conditions: [...others, ...named.values()],
      controlPlane: { versions: versions(facts.controlPlane ?? [version]) },
      workers: { versions: versions(facts.workers ?? [version]) },
    },
  };
}

export const CAPABLE: ClassCapabilities = {
  variables: new Set([
    "machine",
    "plan",
    "publicEndpoint",
    "authorizedCIDRs",
    "apiServerRateLimit",
    "workerSubnet",
  ]),
  maxAuthorizedCIDRs: undefined,
  hasIPv4CIDRsAlone: false,
  mayIgnoreAuthorizedCIDRs: false,
  hasNamesPerNamespace: true,
  workerClass: "default",
  workerHealthCheck: undefined,
  controlPlaneMachines: true,
  kubernetesVersions: [],
  addOns: [],
};

const ORGANIZATION = { kind: "known", id: ORGANIZATION_ID } as const;

/** A converged cluster without pools, long running by default. */
export function observeBlue(
  rest: Partial<ObservedCluster> & { capiFacts?: CapiFacts } = {},
): ObservedCluster {
  const { capiFacts, ...given } = rest;
  const object = anCapiCluster(capiFacts);
  const allocation = {
    subnet: "10.64.3.0/24",
    clusterId: CLUSTER_ID,
    name: "subnet-10-64-3-0",
    uid: "allocation-uid",
    createdAt: secondsAgo(3600),
    orphanedAt: undefined,
    capiUid: "capi" in given && given.capi === undefined ? undefined : "capi-uid",
  };
  return {
    cluster: aCluster(),
    organization: ORGANIZATION,
    namespace: { isLabelled: true, isDeleting: false },
    olderDuplicate: undefined,
    blocker: undefined,
    candidateId: CLUSTER_ID,
    pools: [],
    ...decideOwnership(given.cluster ?? aCluster(), object),
    nameTakenElsewhere: false,
    lostParts: [],
    hasFormerCa: false,
    classes: new Map([["marina-system/standard-v1", CAPABLE]]),
    packages: {},
    catalogue: ["1.33.6", "1.34.2", "1.35.1", "1.36.0"].map((version) => ({ version, status: "supported" })),
    subnets: { own: allocation, taken: new Set([allocation.subnet]) },
    probe: { ok: true, message: "" },
    infrastructure: undefined,
    addOns: [],
    access: { attempts: { kubeconfig: {}, bindings: {} }, failures: [], tenantFindings: {} },
    applyFailure: undefined,
    upgradeRejection: undefined,
    rejected: new Map(),
    upgradeChecks: [],
    settings: {
      ...settings,
      servicePlans: {
        default: { class: "standard-v1", namespace: "marina-system", controlPlaneReplicas: 1 },
      },
      subnetRange: parseSubnetRange("10.64.0.0/22"),
    },
    ...given,
  };
}

/** A pool of a cluster with two ready nodes by default. */
export function aClusterPool(rest: Partial<ObservedClusterPool> = {}): ObservedClusterPool {
  return {
    pool: aPool(),
    machineDeployment: aPoolState(),
    capiDeleting: false,
    olderDuplicate: undefined,
    blocked: false,
    machines: [aMachine("one"), aMachine("two")],
    ...rest,
  };
}

import { defineKind, type Kind, type KubeObject } from "../../../shared/kube/kind.ts";

/** The part of a Pod that the agent reads. */
export interface Pod extends KubeObject {
  spec: PodSpec;
  status?: PodStatus;
}

export interface PodSpec {
  nodeName?: string;
  restartPolicy?: "Always" | "OnFailure" | "Never";
  serviceAccountName?: string;
  enableServiceLinks?: boolean;
  terminationGracePeriodSeconds?: number;
  securityContext?: { runAsUser?: number; runAsGroup?: number; fsGroup?: number };
  initContainers?: Container[];
  containers: Container[];
  volumes?: Volume[];
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  env?: EnvironmentVariable[];
  envFrom?: { prefix?: string; secretRef?: Reference; configMapRef?: Reference }[];
  ports?: { name?: string; containerPort: number }[];
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean; subPath?: string }[];
  startupProbe?: Probe;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
  lifecycle?: { preStop?: Action };
  securityContext?: { runAsUser?: number; runAsGroup?: number; readOnlyRootFilesystem?: boolean };
  terminationMessagePath?: string;
  terminationMessagePolicy?: "File" | "FallbackToLogsOnError";
}

export interface Reference {
  name: string;
  optional?: boolean;
}

export interface EnvironmentVariable {
  name: string;
  value?: string;
  valueFrom?: {
    fieldRef?: { fieldPath: string };
    secretKeyRef?: Reference & { key: string };
    configMapKeyRef?: Reference & { key: string };
  };
}

/** What a probe or a hook does; exactly one of them. */
export interface Action {
  httpGet?: { path?: string; port: number | string; scheme?: string };
  exec?: { command: string[] };
  sleep?: { seconds: number };
}

export interface Probe extends Action {
  initialDelaySeconds?: number;
  periodSeconds?: number;
  timeoutSeconds?: number;
  successThreshold?: number;
  failureThreshold?: number;
}

export interface KeyToPath {
  key: string;
  path: string;
}

export interface Projection {
  secret?: Reference & { items?: KeyToPath[] };
  configMap?: Reference & { items?: KeyToPath[] };
  downwardAPI?: { items?: { path: string; fieldRef?: { fieldPath: string } }[] };
  serviceAccountToken?: { audience?: string; expirationSeconds?: number; path: string };
}

export interface Volume {
  name: string;
  emptyDir?: object;
  secret?: { secretName: string; optional?: boolean; items?: KeyToPath[] };
  configMap?: Reference & { items?: KeyToPath[] };
  projected?: { sources?: Projection[] };
}

export interface ContainerState {
  waiting?: { reason: string; message?: string };
  running?: { startedAt: string };
  terminated?: {
    exitCode: number;
    reason: string;
    message?: string;
    startedAt: string;
    finishedAt: string;
  };
}

export interface ContainerStatus {
  name: string;
  image: string;
  imageID: string;
  ready: boolean;
  started: boolean;
  restartCount: number;
  state: ContainerState;
  lastState: ContainerState;
}

export interface Condition {
  type: string;
  status: "True" | "False";
  reason?: string;
  message?: string;
  lastTransitionTime: string;
}

export interface PodStatus {
  phase?: "Pending" | "Running" | "Succeeded" | "Failed";
  conditions?: Condition[];
  hostIP?: string;
  podIP?: string;
  podIPs?: { ip: string }[];
  startTime?: string;
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
}

export interface Service extends KubeObject {
  spec: { clusterIP?: string; ports?: { name?: string; port: number; protocol?: string }[] };
}

export interface EndpointSlice extends KubeObject {
  endpoints?: {
    addresses: string[];
    conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean };
  }[];
  ports?: { name?: string; port?: number }[];
}

export interface Node extends KubeObject {
  spec?: { taints?: object[] };
  status?: object;
}

const core = { group: "", version: "v1", namespaced: true };

export const podKind: Kind<Pod> = defineKind<Pod>({ ...core, kind: "Pod", plural: "pods" });
export const nodeKind: Kind<Node> = defineKind<Node>({
  ...core,
  kind: "Node",
  plural: "nodes",
  namespaced: false,
});
export const serviceKind: Kind<Service> = defineKind<Service>({
  ...core,
  kind: "Service",
  plural: "services",
});
export const endpointSliceKind: Kind<EndpointSlice> = defineKind<EndpointSlice>({
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  namespaced: true,
});

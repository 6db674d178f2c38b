import type {
  EventsV1Event,
  V1ConfigMap,
  V1Deployment,
  V1Lease,
  V1Namespace,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1ServiceAccount,
} from "@kubernetes/client-node";
import { defineKind, type KubeObject } from "./kind.ts";

/** A client-node model as JSON: timestamps are strings; apiVersion, kind and metadata are present. */
type OnWire<Model> = KubeObject & JsonOf<Omit<Model, keyof KubeObject>>;
type JsonOf<Value> = Value extends Date
  ? string
  : Value extends (infer Item)[]
    ? JsonOf<Item>[]
    : Value extends object
      ? { [K in keyof Value]: JsonOf<Value[K]> }
      : Value;

export type Namespace = OnWire<V1Namespace>;
/** `data` is base64-encoded. */
export type Secret = OnWire<V1Secret>;
export type ConfigMap = OnWire<V1ConfigMap>;
/** An events.k8s.io/v1 Event; `eventTime` and `series.lastObservedTime` have microseconds. */
export type Event = Omit<OnWire<EventsV1Event>, "eventTime"> & { eventTime?: string | null };
export type Lease = OnWire<V1Lease>;
export type RbacRole = OnWire<V1Role>;
export type RoleBinding = OnWire<V1RoleBinding>;
export type ServiceAccount = OnWire<V1ServiceAccount>;
export type Deployment = OnWire<V1Deployment>;

const CORE = { group: "", version: "v1", namespaced: true } as const;
const RBAC = { group: "rbac.authorization.k8s.io", version: "v1", namespaced: true } as const;

export const namespaceKind = defineKind<Namespace>({
  ...CORE,
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false,
});

export const secretKind = defineKind<Secret>({ ...CORE, kind: "Secret", plural: "secrets" });
export const configMapKind = defineKind<ConfigMap>({ ...CORE, kind: "ConfigMap", plural: "configmaps" });

export const eventKind = defineKind<Event>({
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  namespaced: true,
});

export const leaseKind = defineKind<Lease>({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
});

/** Limits what a namespace may hold: `hard` by the name of the resource, in the notation of quantities. */
export interface ResourceQuota extends KubeObject {
  spec?: { hard?: Record<string, string> };
  status?: { hard?: Record<string, string>; used?: Record<string, string> };
}

export const resourceQuotaKind = defineKind<ResourceQuota>({
  ...CORE,
  kind: "ResourceQuota",
  plural: "resourcequotas",
});

export const roleKind = defineKind<RbacRole>({ ...RBAC, kind: "Role", plural: "roles" });
export const roleBindingKind = defineKind<RoleBinding>({
  ...RBAC,
  kind: "RoleBinding",
  plural: "rolebindings",
});

export const serviceAccountKind = defineKind<ServiceAccount>({
  ...CORE,
  kind: "ServiceAccount",
  plural: "serviceaccounts",
});

export const deploymentKind = defineKind<Deployment>({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  namespaced: true,
});

import { defineKind, type KubeObject, type ObjectMeta } from "../../../shared/kube/kind.ts";

const CLUSTER_API = { group: "cluster.x-k8s.io", version: "v1beta2", namespaced: true };

/** The fields of Cluster API's Machine that the provider reads. */
export interface CapiMachine extends KubeObject {
  spec?: { clusterName?: string; version?: string; bootstrap?: { dataSecretName?: string } };
}

export const capiMachineKind = defineKind<CapiMachine>({
  ...CLUSTER_API,
  kind: "Machine",
  plural: "machines",
});

export interface NodeTaint {
  key: string;
  value?: string;
  effect: string;
}

/** A Node of a tenant cluster. */
export interface TenantNode extends KubeObject {
  spec?: { providerID?: string; taints?: NodeTaint[] };
  status?: Record<string, unknown>;
}

export const tenantNodeKind = defineKind<TenantNode>({
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  namespaced: false,
});

/** Name of the Cluster or Machine that Cluster API has set as the owner; undefined while it has not. */
export function findOwnerName(metadata: ObjectMeta, kind: "Cluster" | "Machine"): string | undefined {
  const isOwner = (owner: { apiVersion: string; kind: string }): boolean =>
    owner.kind === kind && owner.apiVersion.startsWith(`${CLUSTER_API.group}/`);
  return metadata.ownerReferences?.find(isOwner)?.name;
}

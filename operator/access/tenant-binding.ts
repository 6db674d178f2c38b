import { isDeepStrictEqual } from "node:util";
import type { KubeClient } from "../../shared/kube/client.ts";
import { apiVersionOf, defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import { nameAdminGroup } from "./admin-kubeconfig.ts";

interface ClusterRoleBinding extends KubeObject {
  roleRef: { apiGroup: string; kind: string; name: string };
  subjects?: { kind: string; apiGroup?: string; name: string }[];
}

const clusterRoleBindingKind = defineKind<ClusterRoleBinding>({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
});

const NAME_PREFIX = "cloud-marina-dev-admin-";
const WRITE = { fieldManager: "marina-operator" };

type TenantClient = Pick<KubeClient, "listAll" | "create" | "delete">;

/**
 * Brings the tenant cluster to exactly one admin binding: that of the present generation. Those of earlier ones go, and
 * with them every kubeconfig handed out before. No server-side apply: not every tenant API server has it. Rejects with
 * the KubeError of the tenant's API server.
 */
export async function ensureAdminBinding(
  tenant: TenantClient,
  clusterId: string,
  generation: number,
): Promise<void> {
  const wanted = composeBinding(clusterId, generation);
  const bindings = await tenant.listAll(clusterRoleBindingKind);
  const ours = bindings.filter((binding) => binding.metadata.name.startsWith(NAME_PREFIX));
  const standing = ours.find((binding) => binding.metadata.name === wanted.metadata.name);
  if (standing === undefined || !isSame(standing, wanted)) {
    if (standing !== undefined) await remove(tenant, standing);
    await tenant.create(clusterRoleBindingKind, wanted, WRITE);
  }
  for (const other of ours.filter((binding) => binding.metadata.name !== wanted.metadata.name)) {
    await remove(tenant, other);
  }
}

function remove(tenant: TenantClient, binding: ClusterRoleBinding): Promise<void> {
  return tenant.delete(clusterRoleBindingKind, undefined, binding.metadata.name);
}

function isSame(left: ClusterRoleBinding, right: ClusterRoleBinding): boolean {
  return (
    isDeepStrictEqual({ ...left.roleRef }, right.roleRef) && isDeepStrictEqual(left.subjects, right.subjects)
  );
}

function composeBinding(clusterId: string, generation: number): ClusterRoleBinding {
  const group = nameAdminGroup(clusterId, generation);
  return {
    apiVersion: apiVersionOf(clusterRoleBindingKind),
    kind: clusterRoleBindingKind.kind,
    metadata: { name: `${NAME_PREFIX}${generation}` },
    roleRef: { apiGroup: clusterRoleBindingKind.group, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "Group", apiGroup: clusterRoleBindingKind.group, name: group }],
  };
}

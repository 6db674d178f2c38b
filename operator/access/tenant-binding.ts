import { isDeepStrictEqual } from "node:util";
import type { KubeClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { apiVersionOf, defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import { nameAdminGroup } from "./admin-kubeconfig.ts";

/** Binds one group to cluster-admin in a tenant cluster. */
export interface TenantBinding extends KubeObject {
  roleRef: { apiGroup: string; kind: string; name: string };
  subjects?: { kind: string; apiGroup?: string; name: string }[];
}

const clusterRoleBindingKind = defineKind<TenantBinding>({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
});

const PREFIX = "cloud-marina-dev-";
const WRITE = { fieldManager: "marina-operator" };

export type TenantClient = Pick<KubeClient, "get" | "listAll" | "create" | "delete">;

/** The binding of the admin kubeconfig; one name per generation, so that the next one drops the last one's. */
export function composeAdminBinding(clusterId: string, generation: number): TenantBinding {
  return composeBinding(`${PREFIX}admin-${generation}`, nameAdminGroup(clusterId, generation));
}

/** The group that one grant alone is in. */
export function nameAccessGroup(accessId: string): string {
  return `cloud.marina.dev:access:${accessId}`;
}

export function composeAccessBinding(accessId: string): TenantBinding {
  return composeBinding(`${PREFIX}access-${accessId}`, nameAccessGroup(accessId));
}

/** What shall stand in a tenant cluster. */
export interface WantedBindings {
  /** These shall be there. */
  wanted: readonly TenantBinding[];
  /** Names that may be there: grants that are being made just now. */
  spared: ReadonlySet<string>;
}

/**
 * Brings a tenant cluster to exactly the bindings that are wanted; everything else of ours goes, and with it every
 * kubeconfig that it gave a right to. `decide` is asked after the bindings were listed: a grant that is made or revoked
 * meanwhile is then never undone. No server-side apply: not every tenant API server has it. Rejects with the KubeError
 * of the tenant's API server.
 */
export async function ensureBindings(tenant: TenantClient, decide: () => WantedBindings): Promise<void> {
  const standing = await tenant.listAll(clusterRoleBindingKind);
  const { replace, drop } = planBindings(standing, decide());
  for (const { before, wanted } of replace) await replaceBinding(tenant, before, wanted);
  for (const name of drop) await removeBinding(tenant, name);
}

/** What is missing or not as wanted, and the names of what is ours and stands for nothing. */
export function planBindings(
  standing: readonly TenantBinding[],
  { wanted, spared }: WantedBindings,
): { replace: { before: TenantBinding | undefined; wanted: TenantBinding }[]; drop: string[] } {
  const find = (name: string) => standing.find((binding) => binding.metadata.name === name);
  const kept = new Set([...spared, ...wanted.map((binding) => binding.metadata.name)]);
  return {
    replace: wanted
      .map((binding) => ({ before: find(binding.metadata.name), wanted: binding }))
      .filter(({ before, wanted: binding }) => before === undefined || !isSame(before, binding)),
    drop: standing
      .map((binding) => binding.metadata.name)
      .filter((name) => name.startsWith(PREFIX) && !kept.has(name)),
  };
}

/** Makes one binding. Rejects with the KubeError of the tenant's API server. */
export async function ensureBinding(tenant: TenantClient, binding: TenantBinding): Promise<void> {
  const standing = await tenant.get(clusterRoleBindingKind, undefined, binding.metadata.name);
  await replaceBinding(tenant, standing, binding);
}

/** Takes one binding away; one that is gone is done. Rejects with the KubeError of the tenant's API server. */
export function removeBinding(tenant: TenantClient, name: string): Promise<void> {
  return tenant.delete(clusterRoleBindingKind, undefined, name);
}

/** The role of a binding cannot be changed: another one is made anew. */
async function replaceBinding(
  tenant: TenantClient,
  standing: TenantBinding | undefined,
  wanted: TenantBinding,
): Promise<void> {
  if (standing !== undefined && isSame(standing, wanted)) return;
  if (standing !== undefined) await removeBinding(tenant, wanted.metadata.name);
  try {
    await tenant.create(clusterRoleBindingKind, wanted, WRITE);
  } catch (error) {
    if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
  }
}

function isSame(left: TenantBinding, right: TenantBinding): boolean {
  return (
    isDeepStrictEqual({ ...left.roleRef }, right.roleRef) && isDeepStrictEqual(left.subjects, right.subjects)
  );
}

function composeBinding(name: string, group: string): TenantBinding {
  return {
    apiVersion: apiVersionOf(clusterRoleBindingKind),
    kind: clusterRoleBindingKind.kind,
    metadata: { name },
    roleRef: { apiGroup: clusterRoleBindingKind.group, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "Group", apiGroup: clusterRoleBindingKind.group, name: group }],
  };
}

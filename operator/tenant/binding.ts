import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { nameAccessGroup } from "../../shared/crd/cluster-access.ts";
import { LABEL_MANAGED_BY, MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import { serviceAccountKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { apiVersionOf, defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import type { AuthorityKind } from "./authority.ts";
import { isOfNoLiveRight, removeEndedSubjects } from "./foreign-subjects.ts";
import type { TenantClient, TenantKind } from "./tenant-client.ts";

/** Binds one group, or one ServiceAccount too, to cluster-admin in a tenant cluster. */
export interface TenantBinding extends KubeObject {
  roleRef: { apiGroup: string; kind: string; name: string };
  subjects?:
    | { kind: string; apiGroup?: string | undefined; name: string; namespace?: string | undefined }[]
    | undefined;
}

const clusterRoleBindingKind = defineKind<TenantBinding>({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
});

const tenantBindingKind: TenantKind<TenantBinding> = {
  kind: clusterRoleBindingKind,
  schema: z.object({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: z.object({ name: z.string() }),
    roleRef: z.object({ apiGroup: z.string(), kind: z.string(), name: z.string() }),
    subjects: z
      .array(
        z.object({
          kind: z.string(),
          apiGroup: z.string().optional(),
          name: z.string(),
          namespace: z.string().optional(),
        }),
      )
      .optional(),
  }),
};

const PREFIX = "cloud-marina-dev-";
const LABELS = { [LABEL_MANAGED_BY]: MANAGER_OPERATOR };
const OURS = `${LABEL_MANAGED_BY}=${MANAGER_OPERATOR}`;

/** Each generation has its own group: removing the binding of the last one revokes every older kubeconfig. */
export function nameAdminGroup(clusterId: string, generation: number): string {
  return `cloud.marina.dev:admin:${clusterId}:${generation}`;
}

/**
 * The binding of the admin kubeconfig; one name per generation, so that the next one replaces the last one's. Where the CA's
 * key is not known, the ServiceAccount of this name has the right too: its token stands in for a certificate.
 */
export function composeAdminBinding(
  clusterId: string,
  generation: number,
  authority: AuthorityKind,
): TenantBinding {
  const group = nameAdminGroup(clusterId, generation);
  return composeBinding(`${PREFIX}admin-${generation}`, group, authority);
}

/** The binding of one access, as `composeAdminBinding`. */
export function composeAccessBinding(accessId: string, authority: AuthorityKind): TenantBinding {
  return composeBinding(`${PREFIX}access-${accessId}`, nameAccessGroup(accessId), authority);
}

/** Where the ServiceAccounts are: every cluster has this namespace, and none may delete it. */
export const ACCOUNT_NAMESPACE = "kube-system";

/** The bindings of a tenant cluster. */
export interface DesiredBindings {
  desired: readonly TenantBinding[];
  /** Names of bindings that may exist: accesses that are being issued. */
  kept: ReadonlySet<string>;
  /** The groups and users whose rights have not ended. */
  live: ReadonlySet<string>;
}

/**
 * Brings a tenant cluster to exactly the desired bindings; every other one of ours is removed, and with it the right of its
 * kubeconfigs, also where bindings of the tenant's name it. `decide` is called after the bindings were listed, so that an access issued or revoked meanwhile is not
 * undone. No server-side apply: not every tenant API server has it. Rejects with the KubeError of the tenant's API server.
 */
export async function ensureBindings(tenant: TenantClient, decide: () => DesiredBindings): Promise<void> {
  const existing = await tenant.list(tenantBindingKind, OURS);
  const { replace, remove } = planBindings(existing, decide());
  // A policy of the tenant that refuses new bindings must not keep a right that has ended.
  for (const name of remove) {
    const binding = existing.find(({ metadata }) => metadata.name === name);
    await removeBinding(tenant, name, hasAccount(binding) ? "kubeconfig" : "ca");
  }
  const failure = await removeEndedSubjects(tenant, () => isOfNoLiveRight(decide().live)).catch(
    (error: unknown) => ({ error }),
  );
  // Nor must a binding of the tenant's that cannot be read or changed keep a right from being given.
  for (const { before, binding } of replace) await replaceBinding(tenant, before, binding);
  if (failure !== undefined) throw failure.error;
}

/** The bindings that are missing or differ, and the names of ours that are not desired. */
export function planBindings(
  existing: readonly TenantBinding[],
  { desired, kept }: Omit<DesiredBindings, "live">,
): { replace: { before: TenantBinding | undefined; binding: TenantBinding }[]; remove: string[] } {
  const find = (name: string) => existing.find((binding) => binding.metadata.name === name);
  const valid = new Set([...kept, ...desired.map((binding) => binding.metadata.name)]);
  return {
    replace: desired
      .map((binding) => ({ before: find(binding.metadata.name), binding }))
      .filter(({ before, binding }) => before === undefined || !isSame(before, binding)),
    remove: existing
      .map((binding) => binding.metadata.name)
      .filter((name) => name.startsWith(PREFIX) && !valid.has(name)),
  };
}

/** Creates one binding. Rejects with the KubeError of the tenant's API server. */
export async function ensureBinding(tenant: TenantClient, binding: TenantBinding): Promise<void> {
  const existing = await tenant.get(tenantBindingKind, binding.metadata.name);
  await replaceBinding(tenant, existing, binding);
}

/** Removes one binding and its ServiceAccount, if they exist. Rejects with the KubeError of the tenant's API server. */
export async function removeBinding(
  tenant: TenantClient,
  name: string,
  authority: AuthorityKind,
): Promise<void> {
  await tenant.delete(tenantBindingKind, name);
  if (authority === "kubeconfig") {
    await tenant.delete({ kind: serviceAccountKind }, name, ACCOUNT_NAMESPACE);
  }
}

function hasAccount(binding: TenantBinding | undefined): boolean {
  return binding?.subjects?.some(({ kind }) => kind === "ServiceAccount") === true;
}

/** The role of a binding cannot be changed: it is deleted and created again. */
async function replaceBinding(
  tenant: TenantClient,
  existing: TenantBinding | undefined,
  desired: TenantBinding,
): Promise<void> {
  if (existing !== undefined && isSame(existing, desired)) return;
  if (existing !== undefined) await tenant.delete(tenantBindingKind, desired.metadata.name);
  try {
    await tenant.create(tenantBindingKind, desired, MANAGER_OPERATOR);
  } catch (error) {
    if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
    if (existing === undefined) await replaceUnlisted(tenant, desired);
  }
}

/** A binding that has lost its label is not listed: it is replaced by one that has it. */
async function replaceUnlisted(tenant: TenantClient, desired: TenantBinding): Promise<void> {
  await tenant.delete(tenantBindingKind, desired.metadata.name);
  await tenant.create(tenantBindingKind, desired, MANAGER_OPERATOR);
}

function isSame(left: TenantBinding, right: TenantBinding): boolean {
  return (
    isDeepStrictEqual({ ...left.roleRef }, right.roleRef) && isDeepStrictEqual(left.subjects, right.subjects)
  );
}

function composeBinding(name: string, group: string, authority: AuthorityKind): TenantBinding {
  const ofGroup = { kind: "Group", apiGroup: clusterRoleBindingKind.group, name: group };
  const ofAccount = { kind: "ServiceAccount", name, namespace: ACCOUNT_NAMESPACE };
  return {
    apiVersion: apiVersionOf(clusterRoleBindingKind),
    kind: clusterRoleBindingKind.kind,
    metadata: { name, labels: LABELS },
    roleRef: { apiGroup: clusterRoleBindingKind.group, kind: "ClusterRole", name: "cluster-admin" },
    subjects: authority === "ca" ? [ofGroup] : [ofGroup, ofAccount],
  };
}

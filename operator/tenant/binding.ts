import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { nameAccessGroup } from "../../shared/crd/cluster-access.ts";
import { LABEL_MANAGED_BY, MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import { serviceAccountKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { apiVersionOf, defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import {
  type TenantClient,
  type TenantKind,
  type TenantPage,
  tenantList,
} from "../../shared/tenant/tenant-client.ts";
import type { AccessSourceKind } from "./access.ts";
import {
  ACCOUNT_NAMESPACE,
  type EndedRights,
  isOfNoLiveRight,
  isOwnBinding,
  nameAccessBinding,
  nameAdminBinding,
  nameAdminGroup,
} from "./subjects.ts";
import { removeEndedSubjects, type SweepOptions } from "./sweep.ts";

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
    subjects: tenantList(
      z.object({
        kind: z.string(),
        apiGroup: z.string().optional(),
        name: z.string(),
        namespace: z.string().optional(),
      }),
    ).optional(),
  }),
};

const LABELS = { [LABEL_MANAGED_BY]: MANAGER_OPERATOR };
const OURS = `${LABEL_MANAGED_BY}=${MANAGER_OPERATOR}`;
/** A tenant who gives more bindings Marina's label has the others found by their names. */
const MAX_OWN_PAGES = 8;

/**
 * The binding of the admin kubeconfig; one name per generation, so that the next one replaces the last one's. Where the CA's
 * key is not known, the ServiceAccount of this name has the right too: its token stands in for a certificate.
 */
export function composeAdminBinding(
  clusterId: string,
  generation: number,
  accessSource: AccessSourceKind,
): TenantBinding {
  const group = nameAdminGroup(clusterId, generation);
  return composeBinding(nameAdminBinding(generation), group, accessSource);
}

/** The binding of one access, as `composeAdminBinding`. */
export function composeAccessBinding(accessId: string, accessSource: AccessSourceKind): TenantBinding {
  return composeBinding(nameAccessBinding(accessId), nameAccessGroup(accessId), accessSource);
}

/** The bindings of a tenant cluster. */
export interface DesiredBindings {
  desired: readonly TenantBinding[];
  /** Whether a right may exist, by the names of its group or its binding: it is active, or may be of an access to be restored. */
  isKept: (name: string) => boolean;
  /** Another one when another right has ended or begun. */
  revision: string;
}

/**
 * Brings a tenant cluster to exactly the desired bindings; every other one of ours is removed, and with it the right of its
 * kubeconfigs, also where bindings of the tenant's name it. `decide` is called after the bindings were listed, so that an access issued or revoked meanwhile is not
 * undone. No server-side apply: not every tenant API server has it. Rejects with the KubeError of the tenant's API server.
 */
export async function ensureBindings(
  tenant: TenantClient,
  decide: () => DesiredBindings,
  sweep: SweepOptions,
): Promise<void> {
  const { existing, isComplete } = await listOwn(tenant);
  const { replace, remove } = planBindings(existing, decide());
  // A policy of the tenant that refuses new bindings must not keep a right that has ended.
  for (const name of remove) {
    const binding = existing.find(({ metadata }) => metadata.name === name);
    await removeBinding(tenant, name, hasAccount(binding) ? "kubeconfig" : "ca");
  }
  const failure = await removeEndedSubjects(tenant, () => toEnded(decide()), sweep).catch(
    (error: unknown) => ({ error }),
  );
  // Nor must a binding of the tenant's that cannot be read or changed keep a right from being given.
  for (const { before, binding } of replace) {
    if (before === undefined && !isComplete) await ensureBinding(tenant, binding);
    else await replaceBinding(tenant, before, binding);
  }
  if (failure !== undefined) throw failure.error;
}

async function listOwn(tenant: TenantClient): Promise<{ existing: TenantBinding[]; isComplete: boolean }> {
  const existing: TenantBinding[] = [];
  let next: string | undefined;
  for (let page = 0; page < MAX_OWN_PAGES; page += 1) {
    const read: TenantPage<TenantBinding> = await tenant.listPage(tenantBindingKind, OURS, next);
    existing.push(...read.items.filter(({ metadata }) => isOwnBinding(metadata.name)));
    if (read.next === undefined) return { existing, isComplete: true };
    next = read.next;
  }
  return { existing, isComplete: false };
}

function toEnded({ isKept, revision }: DesiredBindings): EndedRights {
  return {
    isEnded: isOfNoLiveRight(isKept),
    isLeftOver: (name) => isOwnBinding(name) && !isKept(name),
    revision,
  };
}

/** The bindings that are missing or differ, and the names of ours that are not desired. */
export function planBindings(
  existing: readonly TenantBinding[],
  { desired, isKept }: Pick<DesiredBindings, "desired" | "isKept">,
): { replace: { before: TenantBinding | undefined; binding: TenantBinding }[]; remove: string[] } {
  const find = (name: string) => existing.find((binding) => binding.metadata.name === name);
  const wanted = new Set(desired.map((binding) => binding.metadata.name));
  return {
    replace: desired
      .map((binding) => ({ before: find(binding.metadata.name), binding }))
      .filter(({ before, binding }) => before === undefined || !isSame(before, binding)),
    remove: existing
      .map((binding) => binding.metadata.name)
      .filter((name) => isOwnBinding(name) && !wanted.has(name) && !isKept(name)),
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
  accessSource: AccessSourceKind,
): Promise<void> {
  await tenant.delete(tenantBindingKind, name);
  if (accessSource === "kubeconfig") {
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

function composeBinding(name: string, group: string, accessSource: AccessSourceKind): TenantBinding {
  const ofGroup = { kind: "Group", apiGroup: clusterRoleBindingKind.group, name: group };
  const ofAccount = { kind: "ServiceAccount", name, namespace: ACCOUNT_NAMESPACE };
  return {
    apiVersion: apiVersionOf(clusterRoleBindingKind),
    kind: clusterRoleBindingKind.kind,
    metadata: { name, labels: LABELS },
    roleRef: { apiGroup: clusterRoleBindingKind.group, kind: "ClusterRole", name: "cluster-admin" },
    subjects: accessSource === "ca" ? [ofGroup] : [ofGroup, ofAccount],
  };
}

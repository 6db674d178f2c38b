import { z } from "zod";
import { KubeError } from "../../shared/kube/errors.ts";
import { defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import { objectPath } from "../../shared/kube/object.ts";
import { type TenantClient, type TenantKind, tenantList } from "../../shared/tenant/tenant-client.ts";
import {
  type AdminCollector,
  createAdminCollector,
  type FoundAdmins,
  type RoleRule,
} from "./foreign-admins.ts";
import { ACCOUNT_NAMESPACE, type EndedRights, findKeptSubjects, type Subject } from "./subjects.ts";

/** A tenant that binds faster than it is read is reported, and checked again at the next interval. */
const MAX_PASSES = 5;
/** What one connection reads at most, in pages of 250 and within its deadline; the next one goes on there. */
export const PAGES_PER_CONNECTION = 40;
/** Short, so that a list is read before Kubernetes forgets its place (five minutes); other clusters have their turn. */
export const SWEEP_PAUSE_MS = 2_000;

export interface ForeignBinding extends KubeObject {
  roleRef: { kind: string; name: string };
  subjects?: Subject[] | undefined;
}

/** Why rights that have ended may still be in the bindings of a tenant. */
export class SweepError extends KubeError {
  constructor(kubeMessage: string) {
    super({ status: 0, reason: "InvalidResponse", kubeMessage });
  }

  /** The tenant's API responds: what is bound there keeps a right from ending. */
  override get isUnavailable(): boolean {
    return false;
  }
}

/** There is more than one connection reads: no failure, so the next one follows after SWEEP_PAUSE_MS. */
export class UnfinishedSweepError extends SweepError {}

/**
 * What is read, in this order: ClusterRoles and the Roles of kube-system where they are asked for, ClusterRoleBindings,
 * RoleBindings.
 */
type SweepStep = "roles" | "accountRoles" | "bindings" | "namespaced" | "done";

/** How far the bindings of a tenant are read; it outlives the connections that it takes. */
export interface SweepProgress {
  step: SweepStep;
  /** What a pass begins with. */
  first: SweepStep;
  /** The page of its list that comes next; undefined = the first one. */
  next: string | undefined;
  /** How many bindings named an ended right in this pass. */
  found: number;
  /** The passes of which each has found some. */
  passes: number;
  /** The first change that the tenant refused in this pass. */
  refusal: unknown;
  /** The rights that it was read for. */
  revision: string | undefined;
  collector: AdminCollector;
}

interface AnyRole extends KubeObject {
  rules?: RoleRule[] | null | undefined;
}

/** The cluster or access that a sweep is for, and who receives, at its end, the administrators that Marina did not make. */
export interface SweepOptions {
  sweeps: Sweeps;
  key: string;
  onAdmins?: (found: FoundAdmins) => void;
}

/** The progress for each key of a cluster or an access. */
export type Sweeps = Map<string, SweepProgress>;

const versionSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

const subjectSchema = z.object({
  kind: z.string(),
  apiGroup: z.string().optional(),
  name: z.string(),
  namespace: z.string().optional(),
});

const names = tenantList(z.string());

const GROUP = "rbac.authorization.k8s.io";

const ROLE_KINDS = {
  roles: roleKind("ClusterRole", "clusterroles", false),
  accountRoles: roleKind("Role", "roles", true),
};

const BINDING_KINDS = {
  bindings: bindingKind("ClusterRoleBinding", "clusterrolebindings", false),
  namespaced: bindingKind("RoleBinding", "rolebindings", true),
};

function roleKind(kind: string, plural: string, namespaced: boolean): TenantKind<AnyRole> {
  return {
    kind: defineKind<AnyRole>({ group: GROUP, version: "v1", kind, plural, namespaced }),
    schema: z.object({
      apiVersion: z.string(),
      kind: z.string(),
      metadata: z.object({ name: z.string() }),
      rules: tenantList(
        z.object({
          verbs: names,
          apiGroups: names.optional(),
          resources: names.optional(),
          resourceNames: names.optional(),
        }),
      ).nullish(),
    }),
  };
}

function bindingKind(kind: string, plural: string, namespaced: boolean): TenantKind<ForeignBinding> {
  return {
    kind: defineKind<ForeignBinding>({ group: GROUP, version: "v1", kind, plural, namespaced }),
    // A field that is missing is left out, and not undefined as its type in zod allows.
    schema: z.object({
      apiVersion: z.string(),
      kind: z.string(),
      metadata: z.object({
        name: z.string(),
        namespace: namespaced ? z.string().min(1) : z.string().optional(),
        resourceVersion: z.string().optional(),
      }),
      roleRef: z.object({ kind: z.string(), name: z.string() }),
      subjects: tenantList(subjectSchema).optional(),
    }) as z.ZodType<ForeignBinding>,
  };
}

/**
 * Takes rights that have ended out of the bindings of a tenant cluster: each subject that is of one, in ClusterRoleBindings and
 * in the RoleBindings of all namespaces; a binding of which none is left is deleted. Reads page by page, and again until a
 * pass finds none. `decide` is called after each page was read, so that a right given meanwhile stays. Rejects with a KubeError:
 * the tenant's own, when after MAX_PASSES there are still some, and after PAGES_PER_CONNECTION with an UnfinishedSweepError:
 * called again with the same key, it goes on from there.
 */
export async function removeEndedSubjects(
  tenant: TenantClient,
  decide: () => EndedRights,
  { sweeps, key, onAdmins }: SweepOptions,
): Promise<void> {
  const first: SweepStep = onAdmins === undefined ? "bindings" : "roles";
  const progress = sweeps.get(key) ?? startPass(first, 0);
  sweeps.set(key, progress);
  for (let page = 0; page < PAGES_PER_CONNECTION; page += 1) {
    await readOn(tenant, decide, progress);
    if (progress.step !== "done") continue;
    const { found, passes, refusal, collector } = progress;
    Object.assign(progress, startPass(first, passes + 1));
    if (refusal === undefined && found > 0 && passes + 1 < MAX_PASSES) continue;
    sweeps.delete(key);
    if (refusal !== undefined) throw refusal;
    if (found === 0) return onAdmins?.(collector.result());
    throw new SweepError(
      "bindings keep naming rights that have ended; remove them from ClusterRoleBindings and RoleBindings",
    );
  }
  throw new UnfinishedSweepError(
    "there are more ClusterRoleBindings and RoleBindings than are read at once; the reading goes on, and those that are not read yet may name rights that have ended",
  );
}

function startPass(first: SweepStep, passes: number): SweepProgress {
  const collector = createAdminCollector();
  const nothing = { next: undefined, found: 0, refusal: undefined, revision: undefined };
  return { ...nothing, first, step: first, passes, collector };
}

/** Processes one page. */
async function readOn(
  tenant: TenantClient,
  decide: () => EndedRights,
  progress: SweepProgress,
): Promise<void> {
  try {
    const { step } = progress;
    if (step === "roles" || step === "accountRoles") await readRoles(tenant, progress, step);
    else await readBindings(tenant, decide, progress);
  } catch (error) {
    // The place to go on from is forgotten after some minutes. The pass begins again: what was counted is counted once.
    if (!(error instanceof KubeError && error.isGone && progress.next !== undefined)) throw error;
    Object.assign(progress, startPass(progress.first, progress.passes));
  }
}

const NEXT_STEP = {
  roles: "accountRoles",
  accountRoles: "bindings",
  bindings: "namespaced",
  namespaced: "done",
  done: "done",
} as const;

function goOn(progress: SweepProgress, next: string | undefined): void {
  progress.next = next;
  if (next === undefined) progress.step = NEXT_STEP[progress.step];
}

async function readRoles(
  tenant: TenantClient,
  progress: SweepProgress,
  step: keyof typeof ROLE_KINDS,
): Promise<void> {
  const namespace = step === "roles" ? undefined : ACCOUNT_NAMESPACE;
  const { items, next } = await tenant.listPage(ROLE_KINDS[step], "", progress.next, namespace);
  for (const role of items) progress.collector.addRole(role);
  goOn(progress, next);
}

async function readBindings(
  tenant: TenantClient,
  decide: () => EndedRights,
  progress: SweepProgress,
): Promise<void> {
  const kind = BINDING_KINDS[progress.step === "namespaced" ? "namespaced" : "bindings"];
  const { items, next } = await tenant.listPage(kind, "", progress.next);
  const { isEnded, isLeftOver, revision } = decide();
  // What was read before was read for other rights: it takes another pass.
  if (revision !== (progress.revision ?? revision)) progress.found += 1;
  progress.revision = revision;
  for (const binding of items) {
    const isOurs = !kind.kind.namespaced && isLeftOver(binding.metadata.name);
    const kept = isOurs ? [] : findKeptSubjects(binding, isEnded);
    if (kept === undefined) {
      progress.collector.addBinding(binding);
      continue;
    }
    progress.found += 1;
    // A policy of the tenant that refuses a change of one binding keeps no other right.
    await keepSubjects(tenant, kind, binding, kept).catch((error: unknown) => {
      progress.refusal ??= error;
    });
  }
  goOn(progress, next);
}

/** One that has changed or was deleted meanwhile is read again. */
async function keepSubjects(
  tenant: TenantClient,
  { kind }: TenantKind<ForeignBinding>,
  { metadata }: ForeignBinding,
  subjects: Subject[],
): Promise<void> {
  const { name, namespace, resourceVersion } = metadata;
  const patch = { metadata: { resourceVersion }, subjects };
  try {
    const { metadata: kept } = await tenant.send(
      "PATCH",
      objectPath(kind, namespace, name),
      patch,
      versionSchema,
    );
    // With this version alone: the tenant may have bound another subject meanwhile.
    if (subjects.length === 0) await tenant.delete({ kind }, name, namespace, kept.resourceVersion);
  } catch (error) {
    if (!(error instanceof KubeError && (error.isConflict || error.isNotFound))) throw error;
  }
}

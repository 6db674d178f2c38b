import { z } from "zod";
import { KubeError } from "../../shared/kube/errors.ts";
import { defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import { objectPath } from "../../shared/kube/object.ts";
import type { TenantClient, TenantKind } from "./tenant-client.ts";

/** Groups and users of Marina's have names of this domain in tenant clusters; the other users are subjects of accesses. */
const OWN_NAMES = "cloud.marina.dev:";
/** A tenant that binds faster than it is read is told, and comes again with the next check. */
const MAX_PASSES = 5;

export interface Subject {
  kind: string;
  apiGroup?: string | undefined;
  name: string;
  namespace?: string | undefined;
}

export interface ForeignBinding extends KubeObject {
  subjects?: Subject[] | undefined;
}

const versionSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

const subjectSchema = z.object({
  kind: z.string(),
  apiGroup: z.string().optional(),
  name: z.string(),
  namespace: z.string().optional(),
});

const BINDING_KINDS = [
  bindingKind("ClusterRoleBinding", "clusterrolebindings", false),
  bindingKind("RoleBinding", "rolebindings", true),
];

function bindingKind(kind: string, plural: string, namespaced: boolean): TenantKind<ForeignBinding> {
  const group = "rbac.authorization.k8s.io";
  return {
    kind: defineKind<ForeignBinding>({ group, version: "v1", kind, plural, namespaced }),
    // A field that is missing is left out, and not undefined as its type in zod allows.
    schema: z.object({
      apiVersion: z.string(),
      kind: z.string(),
      metadata: z.object({
        name: z.string(),
        namespace: namespaced ? z.string().min(1) : z.string().optional(),
        resourceVersion: z.string().optional(),
      }),
      subjects: z.array(subjectSchema).optional(),
    }) as z.ZodType<ForeignBinding>,
  };
}

/** Whether a subject names a right that has ended. */
export type IsEnded = (subject: Subject) => boolean;

/** What names Marina, and no right that is alive: `live` are the names of groups and users. */
export function isOfNoLiveRight(live: ReadonlySet<string>): IsEnded {
  return ({ kind, name }) => isPerson(kind) && name.startsWith(OWN_NAMES) && !live.has(name);
}

/** One access that was revoked, by its group and, when its subject has no other, by its user name. */
export function isOfAccess(group: string, user: string | undefined): IsEnded {
  return ({ kind, name }) =>
    (kind === "Group" && name === group) || (kind === "User" && user !== undefined && name === user);
}

function isPerson(kind: string): boolean {
  return kind === "Group" || kind === "User";
}

/** The subjects that a binding keeps; undefined when it keeps all. */
export function findKeptSubjects({ subjects = [] }: ForeignBinding, isEnded: IsEnded): Subject[] | undefined {
  const kept = subjects.filter((subject) => !isEnded(subject));
  return kept.length === subjects.length ? undefined : kept;
}

/**
 * Takes rights that have ended out of the bindings that others made in a tenant cluster: each subject that `isEnded` names,
 * in ClusterRoleBindings and in the RoleBindings of all namespaces; a binding of which none is left is deleted. Reads again
 * until nothing is found. `decide` is called after each list, so that a right given meanwhile stays. Rejects with a KubeError:
 * the tenant's own, or when after MAX_PASSES there are still some.
 */
export async function removeEndedSubjects(tenant: TenantClient, decide: () => IsEnded): Promise<void> {
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    let found = 0;
    let refusal: unknown;
    for (const kind of BINDING_KINDS) {
      const bindings = await tenant.list(kind, "");
      const isEnded = decide();
      for (const binding of bindings) {
        const kept = findKeptSubjects(binding, isEnded);
        if (kept === undefined) continue;
        found += 1;
        // A policy of the tenant that refuses a change of one binding keeps no other right.
        await keepSubjects(tenant, kind, binding, kept).catch((error: unknown) => {
          refusal ??= error;
        });
      }
    }
    if (refusal !== undefined) throw refusal;
    if (found === 0) return;
  }
  const kubeMessage =
    "bindings keep naming rights that have ended; remove them from ClusterRoleBindings and RoleBindings";
  throw new KubeError({ status: 0, reason: "InvalidResponse", kubeMessage });
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
    // Of this version alone: the tenant may have bound another subject meanwhile.
    if (subjects.length === 0) await tenant.delete({ kind }, name, namespace, kept.resourceVersion);
  } catch (error) {
    if (!(error instanceof KubeError && (error.isConflict || error.isNotFound))) throw error;
  }
}

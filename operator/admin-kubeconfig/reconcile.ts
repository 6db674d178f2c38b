import { planApply, withAppliedHash } from "../../shared/controller/applied.ts";
import { composePlan, type Plan } from "../../shared/controller/plan.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { type ClusterAccess, confirmationOf, isIssued } from "../../shared/crd/cluster-access.ts";
import { findRestoredAt } from "../../shared/crd/identity.ts";
import { ANNOTATION_APPLIED, LABEL_ID } from "../../shared/crd/names.ts";
import { roleBindingKind, roleKind } from "../../shared/kube/core-kinds.ts";
import { isLive } from "../cluster-access/reconcile.ts";
import { composeAccessBinding, composeAdminBinding, type DesiredBindings } from "../tenant/binding.ts";
import { composeRoleMetadata, composeSecretRole, composeSecretRoleBinding } from "../tenant/secret-role.ts";
import { isAccessName, nameAccessRights, nameAdminBinding, nameAdminGroup } from "../tenant/subjects.ts";
import { decideIssue, type IssueDecision, type KubeconfigBasis } from "./kubeconfig.ts";
import type { ObservedAdminKubeconfig } from "./observe.ts";

export interface AdminKubeconfigDecision {
  /** The right of Marina's API server to read the kubeconfig. */
  plan: Plan<never>;
  /** Undefined until there are an endpoint and a CA. */
  credential: { basis: KubeconfigBasis; issue: IssueDecision } | undefined;
}

/** Decides what the admin kubeconfig of one cluster needs. */
export function reconcileAdminKubeconfig(
  observed: ObservedAdminKubeconfig,
  now: Date,
): AdminKubeconfigDecision {
  const { cluster, clusterId } = observed;
  const metadata = composeRoleMetadata(cluster, clusterId);
  const role = withAppliedHash(composeSecretRole(metadata), ANNOTATION_APPLIED);
  const roleBinding = withAppliedHash(
    composeSecretRoleBinding(metadata, observed.apiserver),
    ANNOTATION_APPLIED,
  );
  const plan = composePlan<never>({
    write: [
      ...planApply(roleKind, role, observed.role),
      ...planApply(roleBindingKind, roleBinding, observed.roleBinding),
    ],
  });
  return { plan, credential: decideCredential(observed, now) };
}

/** What the kubeconfig is to be, and whether it is to be issued. */
export function decideCredential(
  { cluster, clusterId, credential, tenant }: ObservedAdminKubeconfig,
  now: Date,
): AdminKubeconfigDecision["credential"] {
  if (tenant === undefined) return undefined;
  const credentialsGeneration = cluster.spec.credentialsGeneration ?? 0;
  const { server, accessSource, capiUid } = tenant;
  const basis = { clusterId, credentialsGeneration, server, accessSource: accessSource.kind, capiUid };
  return { basis, issue: decideIssue(credential, basis, accessSource.revision, now) };
}

/**
 * How long a cluster that came back from a backup waits for its accesses: a tool restores them after it, in any order. What
 * is taken out of a tenant's bindings cannot be put back.
 */
export const RESTORE_WAIT_MS = 60 * 60_000;

/**
 * The bindings of a tenant cluster: the admin kubeconfig's, and those of the live accesses that were issued and confirmed. The
 * binding of one that is being issued or waits for its confirmation is kept if it is there, and so is one of an access that may
 * not be restored yet. One whose confirmation was refused has none: it was revoked before it came back from a backup.
 */
export function decideBindings(
  cluster: Cluster,
  basis: KubeconfigBasis,
  accesses: readonly ClusterAccess[],
  now: Date,
): DesiredBindings {
  const { clusterId, credentialsGeneration, accessSource } = basis;
  const idOfAccess = ({ metadata }: ClusterAccess) => metadata.labels?.[LABEL_ID] ?? "unknown";
  const namesOf = (access: ClusterAccess) => nameAccessRights(idOfAccess(access));
  const live = accesses.filter((access) => isLive(access, now));
  const issued = live.filter((access) => isIssued(access) && confirmationOf(access) === "confirmed");
  const active = new Set([
    nameAdminGroup(clusterId, credentialsGeneration),
    nameAdminBinding(credentialsGeneration),
    ...live.flatMap(namesOf),
  ]);
  const known = new Set(accesses.flatMap(namesOf));
  const waits = (findRestoredAt(cluster)?.getTime() ?? 0) + RESTORE_WAIT_MS > now.getTime();
  return {
    desired: [
      composeAdminBinding(clusterId, credentialsGeneration, accessSource),
      ...issued.map((access) => composeAccessBinding(idOfAccess(access), accessSource)),
    ],
    isKept: (name) => active.has(name) || (waits && isAccessName(name) && !known.has(name)),
    revision: `${waits} ${[...active].sort().join(" ")}`,
  };
}

import { planApply, withAppliedHash } from "../../shared/controller/applied.ts";
import { composePlan, type Plan } from "../../shared/controller/plan.ts";
import { type ClusterAccess, isIssued, nameAccessGroup } from "../../shared/crd/cluster-access.ts";
import { ANNOTATION_APPLIED, LABEL_ID } from "../../shared/crd/names.ts";
import { roleBindingKind, roleKind } from "../../shared/kube/core-kinds.ts";
import { isLive } from "../cluster-access/reconcile.ts";
import {
  composeAccessBinding,
  composeAdminBinding,
  type DesiredBindings,
  nameAdminGroup,
} from "../tenant/binding.ts";
import { composeRoleMetadata, composeSecretRole, composeSecretRoleBinding } from "../tenant/secret-role.ts";
import { decideIssue, type IssueDecision, type KubeconfigBasis } from "./kubeconfig.ts";
import type { ObservedAdminKubeconfig } from "./observe.ts";

export interface AdminKubeconfigDecision {
  /** The right of the API server to read the kubeconfig. */
  plan: Plan<never>;
  /** Undefined until there are an endpoint and a CA. */
  credential: { basis: KubeconfigBasis; issue: IssueDecision } | undefined;
}

/** Decides what the admin kubeconfig of one cluster needs. */
export function reconcileAdminKubeconfig(
  observed: ObservedAdminKubeconfig,
  now: Date,
): AdminKubeconfigDecision {
  const { cluster, clusterId, tenant } = observed;
  const metadata = composeRoleMetadata(cluster, clusterId);
  const role = withAppliedHash(composeSecretRole(metadata), ANNOTATION_APPLIED);
  const roleBinding = withAppliedHash(
    composeSecretRoleBinding(metadata, observed.apiserver),
    ANNOTATION_APPLIED,
  );
  const plan = composePlan<never>({
    apply: [
      ...planApply(roleKind, role, observed.role),
      ...planApply(roleBindingKind, roleBinding, observed.roleBinding),
    ],
  });
  if (tenant === undefined) return { plan, credential: undefined };
  const credentialsGeneration = cluster.spec.credentialsGeneration ?? 0;
  const { server, authority, engine } = tenant;
  const basis = { clusterId, credentialsGeneration, server, authority: authority.kind, engine };
  return {
    plan,
    credential: { basis, issue: decideIssue(observed.credential, basis, authority.revision, now) },
  };
}

/**
 * The bindings of a tenant cluster: the admin kubeconfig's, and those of the live accesses that were issued. The binding of
 * an access that is being issued is kept if it is there.
 */
export function decideBindings(
  basis: KubeconfigBasis,
  accesses: readonly ClusterAccess[],
  now: Date,
): DesiredBindings {
  const live = accesses.filter((access) => isLive(access, now));
  const issued = live.filter(isIssued);
  const bindingOf = (access: ClusterAccess) =>
    composeAccessBinding(access.metadata.labels?.[LABEL_ID] ?? "unknown", basis.authority);
  return {
    desired: [
      composeAdminBinding(basis.clusterId, basis.credentialsGeneration, basis.authority),
      ...issued.map((access) => bindingOf(access)),
    ],
    kept: new Set(live.map((access) => bindingOf(access).metadata.name)),
    live: new Set([
      nameAdminGroup(basis.clusterId, basis.credentialsGeneration),
      ...live.map(({ metadata }) => nameAccessGroup(metadata.labels?.[LABEL_ID] ?? "unknown")),
    ]),
  };
}

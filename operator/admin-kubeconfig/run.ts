import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, composePlan, type Step } from "../../shared/controller/plan.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import type { Caches } from "../caches.ts";
import type { RunContext } from "../run-context.ts";
import { ensureBindings } from "../tenant/binding.ts";
import { issueClientCertificate } from "../tenant/sign.ts";
import { readCertificateAuthority, type TenantAccess } from "../tenant/tenant.ts";
import { BINDING_CHECK_MS, delayInitialCheck } from "./initial-check.ts";
import {
  composeAdminSecret,
  composeRequest,
  composeRevisionPatch,
  type IssueDecision,
  type KubeconfigBasis,
  RENEW_AFTER_MS,
} from "./kubeconfig.ts";
import { type ObservedAdminKubeconfig, observeAccesses, observeAdminKubeconfig } from "./observe.ts";
import { decideBindings, reconcileAdminKubeconfig } from "./reconcile.ts";
import type { ServiceAccountName } from "./role.ts";

export interface AdminKubeconfigDeps {
  client: Pick<KubeClient, "get" | "mergePatch">;
  caches: Caches;
  apiserver: ServiceAccountName;
  now(): Date;
  tenants: TenantAccess;
  random(): number;
  /** The clusters whose tenant API this process has checked or scheduled a check of. */
  checked: Set<string>;
}

/**
 * Reconciles the admin kubeconfig of one cluster: the right of the API server to read it, the kubeconfig itself as soon as
 * there are a CA and an endpoint, and the bindings in the tenant cluster as soon as that responds: its own and those of the
 * accesses (ClusterAccess). Rejects with the KubeError of either API server; running it again is safe.
 */
export async function runAdminKubeconfig(
  deps: AdminKubeconfigDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const { caches, tenants } = deps;
  const observed = observeAdminKubeconfig(caches, deps.apiserver, key);
  if (observed === undefined) {
    deps.checked.delete(key);
    tenants.forget(key);
    return undefined;
  }
  const { cluster, tenant } = observed;
  const { plan, credential } = reconcileAdminKubeconfig(observed, deps.now());
  await applyPlan({ ...context, kind: clusterKind }, cluster, plan);
  if (tenant === undefined || credential === undefined) return undefined;
  const renewInMs = await issueWhenDue(deps, observed, credential, context);
  if (!tenant.state.controlPlaneInitialized) return { requeueAfterMs: renewInMs };
  const delayMs = deps.checked.has(key)
    ? 0
    : delayInitialCheck(renewInMs, caches.clusters.size, deps.random());
  deps.checked.add(key);
  if (delayMs > 0) return { requeueAfterMs: delayMs };
  await tenants.withTenant(cluster, tenant, context.signal, (client) =>
    ensureBindings(client, () => decideBindings(credential.basis, observeAccesses(caches, key), deps.now())),
  );
  return { requeueAfterMs: Math.min(renewInMs, BINDING_CHECK_MS) };
}

/**
 * Returns in how many ms the kubeconfig has to be renewed. A current one costs no request; the CA is read only when its
 * Secret has another revision than the one that was last compared.
 */
async function issueWhenDue(
  deps: AdminKubeconfigDeps,
  { cluster, credential }: ObservedAdminKubeconfig,
  { basis, issue }: { basis: KubeconfigBasis; issue: IssueDecision },
  context: RunContext,
): Promise<number> {
  if (issue.kind === "keep") return issue.renewInMs;
  const now = deps.now();
  const ca = await readCertificateAuthority(deps, cluster, context.signal);
  if (issue.kind === "compare" && issue.caCertificate === ca.certificate) {
    const isRecorded = issue.compared === ca.revision;
    if (credential !== undefined && !isRecorded) await recordRevision(deps, credential, ca.revision, context);
    return issue.renewInMs;
  }
  const certificate = await issueClientCertificate({ ca, ...composeRequest(basis, now) });
  const object = composeAdminSecret(cluster, basis, ca, certificate, now);
  const step: Step = { verb: "apply", kind: secretKind, object };
  await applyPlan({ ...context, kind: clusterKind }, cluster, composePlan({ apply: [step] }));
  return RENEW_AFTER_MS;
}

async function recordRevision(
  deps: AdminKubeconfigDeps,
  { metadata }: Secret,
  revision: string,
  { onWritten, signal }: RunContext,
): Promise<void> {
  const patch = composeRevisionPatch(revision, metadata);
  const options = { fieldManager: MANAGER_OPERATOR, signal };
  const written = await deps.client.mergePatch(secretKind, metadata.namespace, metadata.name, patch, options);
  onWritten(secretKind, written.metadata.resourceVersion ?? "");
}

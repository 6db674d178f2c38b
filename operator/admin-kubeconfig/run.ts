import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, composePlan, type Step } from "../../shared/controller/plan.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import type { Caches } from "../caches.ts";
import type { RunContext } from "../run-context.ts";
import { issueClientCertificate } from "../tenant/sign.ts";
import { readCertificateAuthority } from "../tenant/tenant.ts";
import { composeRotationEvent } from "./events.ts";
import {
  composeAdminSecret,
  composeRequest,
  composeRevisionPatch,
  type IssueDecision,
  isRotation,
  type KubeconfigBasis,
  RENEW_AFTER_MS,
} from "./kubeconfig.ts";
import { type ObservedAdminKubeconfig, observeAdminKubeconfig } from "./observe.ts";
import { reconcileAdminKubeconfig } from "./reconcile.ts";
import type { ServiceAccountName } from "./role.ts";

export interface AdminKubeconfigDeps {
  client: Pick<KubeClient, "get" | "mergePatch">;
  caches: Caches;
  apiserver: ServiceAccountName;
  now(): Date;
}

/**
 * Reconciles the admin kubeconfig of one cluster: the right of the API server to read it, and the kubeconfig itself as soon
 * as there are a CA and an endpoint. Connects to no tenant. Running it again is safe.
 */
export async function runAdminKubeconfig(
  deps: AdminKubeconfigDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const observed = observeAdminKubeconfig(deps.caches, deps.apiserver, key);
  if (observed === undefined) return undefined;
  const { cluster } = observed;
  const { plan, credential } = reconcileAdminKubeconfig(observed, deps.now());
  await applyPlan({ ...context, kind: clusterKind }, cluster, plan);
  if (credential === undefined) return undefined;
  return { requeueAfterMs: await issueWhenDue(deps, observed, credential, context) };
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
  const events = isRotation(credential, basis) ? [composeRotationEvent(cluster, basis)] : [];
  await applyPlan({ ...context, kind: clusterKind }, cluster, composePlan({ apply: [step], events }));
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

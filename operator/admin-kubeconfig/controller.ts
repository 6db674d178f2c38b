import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, composePlan, type Step } from "../../shared/controller/plan.ts";
import { clusterOfAdminSecret } from "../../shared/crd/admin-secret.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { CacheSet, Caches, RunContext } from "../caches.ts";
import { enqueueTo } from "../caches.ts";
import { hasFinalizer } from "../identity/identity.ts";
import { type CaCertificate, enqueueByTenantAccess, readCertificateAuthority } from "../tenant/access.ts";
import type { ServiceAccountName } from "../tenant/secret-role.ts";
import { issueClientCertificate } from "../tenant/sign.ts";
import type { AccessHealth } from "../tenant/tenant-findings.ts";
import {
  type AdminCredential,
  composeAdminSecret,
  composeLostCaPatch,
  composeRequest,
  composeRevisionPatch,
  type IssueDecision,
  isOfOtherCa,
  isRecorded,
  type KubeconfigBasis,
  RENEW_AFTER_MS,
} from "./kubeconfig.ts";
import { type ObservedAdminKubeconfig, observeAdminKubeconfig } from "./observe.ts";
import { reconcileAdminKubeconfig } from "./reconcile.ts";

export interface AdminKubeconfigDeps {
  client: Pick<KubeClient, "get" | "mergePatch">;
  caches: Caches;
  apiserver: ServiceAccountName;
  accessHealth: Pick<AccessHealth, "record">;
  now(): Date;
}

/**
 * Reconciles the admin kubeconfig of one cluster: the right of Marina's API server to read it, and the kubeconfig itself
 * as soon as there are a CA and an endpoint. Connects to no tenant: what only the tenant's control plane can issue is left to
 * the controller of its bindings. Running it again is safe.
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
  if (credential?.basis.accessSource !== "ca") return undefined;
  const requeueAfterMs = await deps.accessHealth.record(key, "kubeconfig", () =>
    issueWhenDue(deps, observed, credential, context),
  );
  return { requeueAfterMs };
}

/**
 * Returns in how many ms the kubeconfig has to be renewed. A current one costs no request; the CA is read only when its Secret
 * has another revision than the one that was last compared.
 */
async function issueWhenDue(
  deps: AdminKubeconfigDeps,
  { cluster, credential }: ObservedAdminKubeconfig,
  { basis, issue }: { basis: KubeconfigBasis; issue: IssueDecision },
  context: RunContext,
): Promise<number> {
  if (issue.kind === "keep") return issue.renewInMs;
  const ca = await readCertificateAuthority(deps, cluster, context.signal);
  if (issue.kind === "compare" && issue.caCertificate === ca.certificate) {
    await recordRevision(deps, credential, basis, ca.revision, context);
    return issue.renewInMs;
  }
  if (credential !== undefined && isOfOtherCa(credential, basis, ca.certificate)) {
    // The API server of the tenant trusts the one before: a kubeconfig of the new one would open nothing.
    await patchCredential(
      deps,
      credential,
      composeLostCaPatch(ca.revision, basis, credential.metadata),
      context,
    );
    return RENEW_AFTER_MS;
  }
  const request = composeRequest(basis, deps.now());
  const issued = {
    credential: await issueClientCertificate({ ca, ...request }),
    expiresAt: request.notAfter,
  };
  await writeAdminSecret(deps, cluster, basis, ca, issued, context);
  return RENEW_AFTER_MS;
}

/** Writes the Secret of a kubeconfig that was issued. */
export async function writeAdminSecret(
  deps: Pick<AdminKubeconfigDeps, "now">,
  cluster: Cluster,
  basis: KubeconfigBasis,
  ca: CaCertificate,
  issued: AdminCredential,
  context: RunContext,
): Promise<void> {
  const object = composeAdminSecret(cluster, basis, ca, issued, deps.now());
  const step: Step = { verb: "apply", kind: secretKind, object };
  await applyPlan({ ...context, kind: clusterKind }, cluster, composePlan({ write: [step] }));
}

/** Notes in the Secret of a kubeconfig that another revision was compared and holds the same CA. */
export async function recordRevision(
  deps: Pick<AdminKubeconfigDeps, "client">,
  credential: Secret | undefined,
  basis: KubeconfigBasis,
  revision: string,
  context: RunContext,
): Promise<void> {
  if (credential === undefined || isRecorded(credential, basis, revision)) return;
  await patchCredential(
    deps,
    credential,
    composeRevisionPatch(revision, basis, credential.metadata),
    context,
  );
}

async function patchCredential(
  deps: Pick<AdminKubeconfigDeps, "client">,
  { metadata }: Secret,
  patch: object,
  { onWritten, signal }: RunContext,
): Promise<void> {
  const options = { fieldManager: MANAGER_OPERATOR, signal };
  const written = await deps.client.mergePatch(secretKind, metadata.namespace, metadata.name, patch, options);
  onWritten(secretKind, written.metadata.resourceVersion ?? "");
}

/** Adds the key of a cluster for every change that its admin kubeconfig depends on. */
export function watchAdminKubeconfigs(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  const addByChild = (change: Change<KubeObject>) => {
    const { namespace, name } = change.object.metadata;
    const cluster = clusterOfAdminSecret(name);
    if (cluster !== undefined) add(toKey(namespace, cluster), change);
  };
  cacheSet.listen("clusters", (change) => {
    const before = change.previous;
    if (before === undefined || summarize(before) !== summarize(change.object)) {
      add(objectKey(change.object), change);
    }
  });
  enqueueByTenantAccess(cacheSet, add);
  cacheSet.listen("issuedCredentials", addByChild);
  cacheSet.listen("roles", addByChild);
  cacheSet.listen("roleBindings", addByChild);
}

function summarize(object: Cluster): string {
  const { metadata } = object;
  return `${metadata.generation} ${idOf(object)} ${hasFinalizer(metadata)}`;
}

import { isApplied, withAppliedHash } from "../../shared/controller/applied.ts";
import type { ReconcileResult } from "../../shared/controller/controller.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { LABEL_ID, MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { roleBindingKind, roleKind, type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { Caches } from "../caches.ts";
import { hasFinalizer } from "../identity.ts";
import { INDEX_CLUSTER } from "../indexes.ts";
import {
  composeAdminSecret,
  composeComparedPatch,
  composeRequest,
  decideIssue,
  type KubeconfigBasis,
  nameAdminSecret,
  RENEW_AFTER_MS,
} from "./admin-kubeconfig.ts";
import { BINDING_CHECK_MS, delayFirstLook } from "./first-look.ts";
import { isLive } from "./reconcile.ts";
import { composeSecretRole, composeSecretRoleBinding, type ServiceAccountName } from "./role.ts";
import { issueClientCertificate } from "./sign.ts";
import { findTenant, readAuthority, type TenantAccess } from "./tenant.ts";
import {
  composeAccessBinding,
  composeAdminBinding,
  ensureBindings,
  type WantedBindings,
} from "./tenant-binding.ts";

export interface AccessDeps {
  client: Pick<KubeClient, "get" | "apply" | "mergePatch">;
  caches: Caches;
  apiserver: ServiceAccountName;
  now(): Date;
  tenants: TenantAccess;
  random(): number;
  /** The clusters whose tenant API this process has looked into. */
  seen: Set<string>;
  /** After each write, so that the cache can be waited for. */
  onWritten(kind: Kind<unknown>, resourceVersion: string): void;
}

const ANNOTATION_APPLIED = "cloud.marina.dev/applied";

/**
 * Keeps the admin access of one cluster: the right of the API server to read the kubeconfig, the kubeconfig itself as
 * soon as there are a CA and an endpoint, and the bindings in the tenant cluster as soon as this answers: its own, and
 * those of the grants (ClusterAccess), of which it also sweeps away what no grant stands for. Rejects with
 * the KubeError of whoever refused; running it again is safe.
 */
export async function runAccess(
  deps: AccessDeps,
  key: string,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { caches } = deps;
  const cluster = caches.clusters.get(key);
  const clusterId = cluster?.metadata.labels?.[LABEL_ID];
  if (cluster === undefined || clusterId === undefined || !isTakenIn(cluster)) {
    deps.seen.delete(key);
    deps.tenants.forget(key);
    return undefined;
  }
  await applyRole(deps, cluster, clusterId, signal);
  const found = findTenant(caches, key);
  if (found === undefined) return undefined;
  const credentialsGeneration = cluster.spec.credentialsGeneration ?? 0;
  const basis = { clusterId, credentialsGeneration, server: found.server };
  const renewInMs = await issueWhenDue(deps, cluster, basis, found.authority, signal);
  if (!found.state.controlPlaneInitialized) return { requeueAfterMs: renewInMs };
  const delayMs = deps.seen.has(key) ? 0 : delayFirstLook(renewInMs, caches.clusters.size, deps.random());
  deps.seen.add(key);
  if (delayMs > 0) return { requeueAfterMs: delayMs };
  await deps.tenants.withTenant(cluster, found, signal, (tenant) =>
    ensureBindings(tenant, () => decideBindings(caches, key, basis, deps.now())),
  );
  return { requeueAfterMs: Math.min(renewInMs, BINDING_CHECK_MS) };
}

/** The admin kubeconfig's binding and those of the grants that hold; a grant that is being made is left alone. */
function decideBindings(caches: Caches, key: string, basis: KubeconfigBasis, now: Date): WantedBindings {
  const live = caches.accesses.byIndex(INDEX_CLUSTER, key).filter((access) => isLive(access, now));
  const bindingOf = (access: ClusterAccess) =>
    composeAccessBinding(access.metadata.labels?.[LABEL_ID] ?? "unknown");
  const issued = live.filter((access) => access.status?.certificate !== undefined);
  return {
    wanted: [
      composeAdminBinding(basis.clusterId, basis.credentialsGeneration),
      ...issued.map((access) => bindingOf(access)),
    ],
    spared: new Set(live.map((access) => bindingOf(access).metadata.name)),
  };
}

/** Only what carries our finalizer is served; what is being deleted is served no more. */
function isTakenIn({ metadata }: Cluster): boolean {
  return hasFinalizer(metadata) && metadata.deletionTimestamp === undefined;
}

async function applyRole(
  deps: AccessDeps,
  cluster: Cluster,
  clusterId: string,
  signal: AbortSignal,
): Promise<void> {
  const { caches } = deps;
  const roleKey = nameAdminSecret(objectKey(cluster));
  const role = withAppliedHash(composeSecretRole(cluster, clusterId), ANNOTATION_APPLIED);
  const binding = withAppliedHash(
    composeSecretRoleBinding(cluster, clusterId, deps.apiserver),
    ANNOTATION_APPLIED,
  );
  if (!isApplied(role, caches.roles.get(roleKey))) await apply(deps, roleKind, role, signal);
  if (!isApplied(binding, caches.roleBindings.get(roleKey))) {
    await apply(deps, roleBindingKind, binding, signal);
  }
}

/**
 * Returns in how many ms the kubeconfig has to be renewed. A settled one costs no request; the CA is read when its Secret
 * is another version than the one that was last seen to hold the certificate.
 */
async function issueWhenDue(
  deps: AccessDeps,
  cluster: Cluster,
  basis: KubeconfigBasis,
  authority: string,
  signal: AbortSignal,
): Promise<number> {
  const now = deps.now();
  const existing = deps.caches.credentials.get(nameAdminSecret(objectKey(cluster)));
  // One that belongs to the Cluster of before a restore would outlive this one.
  const isOwned = existing?.metadata.ownerReferences?.some(({ uid }) => uid === cluster.metadata.uid);
  const decision = decideIssue(isOwned ? existing : undefined, basis, authority, now);
  if (decision.kind === "keep") return decision.renewInMs;
  const ca = await readAuthority(deps, cluster, signal);
  if (decision.kind === "compare" && decision.caCertificate === ca.certificate) {
    const isNoted = decision.compared === ca.mark;
    if (existing !== undefined && !isNoted) await noteCompared(deps, existing, ca.mark, signal);
    return decision.renewInMs;
  }
  const credential = await issueClientCertificate({ ca, ...composeRequest(basis, now) });
  await apply(deps, secretKind, composeAdminSecret(cluster, basis, ca, credential, now), signal);
  return RENEW_AFTER_MS;
}

async function noteCompared(deps: AccessDeps, { metadata }: Secret, mark: string, signal: AbortSignal) {
  const patch = composeComparedPatch(mark, metadata);
  const options = { fieldManager: MANAGER_OPERATOR, signal };
  const written = await deps.client.mergePatch(secretKind, metadata.namespace, metadata.name, patch, options);
  deps.onWritten(secretKind, written.metadata.resourceVersion ?? "");
}

async function apply<T extends KubeObject>(
  deps: AccessDeps,
  kind: Kind<T>,
  object: T,
  signal: AbortSignal,
): Promise<void> {
  const options = { fieldManager: MANAGER_OPERATOR, force: true, signal };
  const written = await deps.client.apply<KubeObject>(kind as Kind<KubeObject>, object, options);
  deps.onWritten(kind, written.metadata.resourceVersion ?? "");
}

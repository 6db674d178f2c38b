import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import { clusterOfAdminSecret } from "../../shared/crd/admin-secret.ts";
import type { ObjectMeta } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { TenantClient } from "../../shared/tenant/tenant-client.ts";
import {
  type AdminKubeconfigDeps,
  recordRevision,
  writeAdminSecret,
} from "../admin-kubeconfig/controller.ts";
import {
  type AdminCredential,
  composeRequest,
  type IssueDecision,
  type KubeconfigBasis,
  LIFETIME_MS,
  RENEW_AFTER_MS,
} from "../admin-kubeconfig/kubeconfig.ts";
import {
  type ObservedAdminKubeconfig,
  observeAccesses,
  observeAdminKubeconfig,
} from "../admin-kubeconfig/observe.ts";
import { decideBindings, decideCredential } from "../admin-kubeconfig/reconcile.ts";
import type { CacheSet, Caches, RunContext } from "../caches.ts";
import { enqueueTo } from "../caches.ts";
import { findOutdated } from "../cluster-access/observe.ts";
import { enqueueByTenantAccess, readCapiAccess } from "../tenant/access.ts";
import { composeAdminBinding, ensureBindings } from "../tenant/binding.ts";
import { requestToken, type Signers } from "../tenant/issue.ts";
import type { ServiceAccountName } from "../tenant/secret-role.ts";
import { createRequest, readNotAfter } from "../tenant/sign.ts";
import { SWEEP_PAUSE_MS, type Sweeps, UnfinishedSweepError } from "../tenant/sweep.ts";
import type { TenantAccess } from "../tenant/tenant.ts";
import type { AccessHealth, FindingsStore } from "../tenant/tenant-findings.ts";

export interface TenantBindingsDeps {
  client: AdminKubeconfigDeps["client"];
  caches: Caches;
  apiserver: ServiceAccountName;
  tenants: TenantAccess;
  signers: Signers;
  accessHealth: Pick<AccessHealth, "record">;
  now(): Date;
  random(): number;
  /** The clusters whose tenant API this process has checked or scheduled a check of. */
  checked: Set<string>;
  sweeps: Sweeps;
  tenantFindings: Pick<FindingsStore, "recordAdmins" | "recordGeneration">;
}

/**
 * Brings the bindings in one tenant cluster to those of its admin kubeconfig and its accesses (ClusterAccess), once the
 * kubeconfig is issued and the control plane is up. Where only the tenant's control plane can issue the kubeconfig, that is
 * done here too. Rejects with the KubeError of the tenant's API server; running it again
 * is safe.
 */
export async function runTenantBindings(
  deps: TenantBindingsDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const { caches, tenants } = deps;
  const observed = observeAdminKubeconfig(caches, deps.apiserver, key);
  if (observed === undefined) {
    deps.checked.delete(key);
    deps.sweeps.delete(key);
    tenants.forget(key);
    deps.signers.forget(key);
    return undefined;
  }
  const { cluster, tenant } = observed;
  const credential = decideCredential(observed, deps.now());
  if (tenant?.state.controlPlaneInitialized !== true || credential === undefined) return undefined;
  const { basis, issue } = credential;
  const issues = tenant.accessSource.kind === "kubeconfig";
  if (issue.kind === "issue" && !issues) return undefined;
  const delayMs =
    issue.kind === "issue" || deps.checked.has(key)
      ? 0
      : delayInitialCheck(issue.renewInMs, caches.clusters.size, deps.random());
  deps.checked.add(key);
  if (delayMs > 0) return { requeueAfterMs: delayMs };
  const isOutdated = findOutdated(caches, key);
  try {
    await deps.accessHealth.record(key, "bindings", () =>
      tenants.withTenant(cluster, tenant, context.signal, async (client) => {
        // A right that has ended is taken away first, whatever issuing takes.
        await ensureBindings(
          client,
          () => {
            // The kubeconfigs of an earlier cluster in its place open nothing in this one.
            const accesses = observeAccesses(caches, key).filter((access) => !isOutdated(access));
            return decideBindings(cluster, basis, accesses, deps.now());
          },
          { sweeps: deps.sweeps, key, onAdmins: (found) => deps.tenantFindings.recordAdmins(key, found) },
        );
        deps.tenantFindings.recordGeneration(key, basis.credentialsGeneration);
        if (issues) {
          const issued = () => issueAdminByTenant(deps, client, observed, credential, context);
          await deps.accessHealth.record(key, "kubeconfig", issued);
        }
      }),
    );
  } catch (error) {
    // What is known of the access says so until all are read.
    if (error instanceof UnfinishedSweepError) return { requeueAfterMs: SWEEP_PAUSE_MS };
    throw error;
  }
  return { requeueAfterMs: BINDING_CHECK_MS };
}

/**
 * Issues the admin kubeconfig of a cluster whose CA's key is not known, when it is due: with a certificate that the tenant's
 * control plane signs, else with a token of a ServiceAccount. Rejects with the KubeError of either API server.
 */
async function issueAdminByTenant(
  deps: Pick<AdminKubeconfigDeps, "client" | "now"> & { signers: Pick<Signers, "request"> },
  tenant: TenantClient,
  { cluster, credential }: ObservedAdminKubeconfig,
  { basis, issue }: { basis: KubeconfigBasis; issue: IssueDecision },
  context: RunContext,
): Promise<void> {
  if (issue.kind === "keep") return;
  const { ca } = await readCapiAccess(deps, cluster, context.signal);
  if (issue.kind === "compare" && issue.caCertificate === ca.certificate) {
    await recordRevision(deps, credential, basis, ca.revision, context);
    return;
  }
  const issued = await requestCredential(deps, tenant, objectKey(cluster), basis);
  await writeAdminSecret(deps, cluster, basis, ca, issued, context);
}

async function requestCredential(
  { signers, now }: Pick<AdminKubeconfigDeps, "now"> & { signers: Pick<Signers, "request"> },
  tenant: TenantClient,
  key: string,
  basis: KubeconfigBasis,
): Promise<AdminCredential> {
  const { commonName, organization } = composeRequest(basis, now());
  const { key: privateKey, csr } = await createRequest(commonName, organization);
  const certificate = await signers.request(key, tenant, csr, LIFETIME_MS / 1000);
  if (certificate !== undefined) {
    return { credential: { certificate, key: privateKey }, expiresAt: readNotAfter(certificate) };
  }
  const { clusterId, credentialsGeneration, accessSource } = basis;
  const { name } = composeAdminBinding(clusterId, credentialsGeneration, accessSource).metadata;
  const { token, expiresAt } = await requestToken(tenant, name, LIFETIME_MS / 1000);
  return { credential: { token }, expiresAt };
}

/** Adds the key of a cluster for every change that the bindings in it depend on; each run connects to it. */
export function watchTenantBindings(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  cacheSet.listen("clusters", (change) => {
    const before = change.previous?.metadata;
    if (before === undefined || summarize(before) !== summarize(change.object.metadata)) {
      add(objectKey(change.object), change);
    }
  });
  enqueueByTenantAccess(cacheSet, add);
  cacheSet.listen("issuedCredentials", (change) => {
    const { namespace, name } = change.object.metadata;
    const cluster = clusterOfAdminSecret(name);
    if (cluster !== undefined) add(toKey(namespace, cluster), change);
  });
  // A binding that a deleted access left behind is removed with the cluster's other unknown bindings.
  cacheSet.listen("accesses", (change) => {
    const { metadata, spec } = change.object;
    if (change.type === "deleted") add(toKey(metadata.namespace, spec.clusterName), change);
  });
}

function summarize({ generation, deletionTimestamp }: ObjectMeta): string {
  return `${generation} ${deletionTimestamp}`;
}

/** The tenant's API may lose the binding (a restore): checked this often. */
export const BINDING_CHECK_MS = 10 * 60_000;
/** An initial check with its certificate costs about 10 ms of CPU: at this interval a fifth of a core. */
const INTERVAL_MS = 50;

/**
 * By how many ms a new process delays its initial check of a tenant's API, so that a large fleet is not checked at once; 0
 * for a kubeconfig so new that its issuer may have ended before it was bound. `random` is from 0 to 1.
 */
export function delayInitialCheck(renewInMs: number, clusters: number, random: number): number {
  const isNew = renewInMs > RENEW_AFTER_MS - BINDING_CHECK_MS;
  return isNew ? 0 : Math.floor(random * Math.min(clusters * INTERVAL_MS, BINDING_CHECK_MS));
}

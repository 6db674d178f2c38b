import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { observeAccesses, observeAdminKubeconfig } from "../admin-kubeconfig/observe.ts";
import { decideBindings, reconcileAdminKubeconfig } from "../admin-kubeconfig/reconcile.ts";
import type { ServiceAccountName } from "../admin-kubeconfig/role.ts";
import type { Caches } from "../caches.ts";
import type { RunContext } from "../run-context.ts";
import { ensureBindings } from "../tenant/binding.ts";
import type { TenantAccess } from "../tenant/tenant.ts";
import { BINDING_CHECK_MS, delayInitialCheck } from "./initial-check.ts";

export interface TenantBindingsDeps {
  caches: Caches;
  apiserver: ServiceAccountName;
  tenants: TenantAccess;
  now(): Date;
  random(): number;
  /** The clusters whose tenant API this process has checked or scheduled a check of. */
  checked: Set<string>;
}

/**
 * Brings the bindings in one tenant cluster to those of its admin kubeconfig and its accesses (ClusterAccess), once the
 * kubeconfig is issued and the control plane is up. Rejects with the KubeError of the tenant's API server; running it again
 * is safe.
 */
export async function runTenantBindings(
  deps: TenantBindingsDeps,
  key: string,
  { signal }: Pick<RunContext, "signal">,
): Promise<ReconcileResult> {
  const { caches, tenants } = deps;
  const observed = observeAdminKubeconfig(caches, deps.apiserver, key);
  if (observed === undefined) {
    deps.checked.delete(key);
    tenants.forget(key);
    return undefined;
  }
  const { cluster, tenant } = observed;
  const { credential } = reconcileAdminKubeconfig(observed, deps.now());
  if (tenant?.state.controlPlaneInitialized !== true || credential === undefined) return undefined;
  const { basis, issue } = credential;
  if (issue.kind === "issue") return undefined;
  const delayMs = deps.checked.has(key)
    ? 0
    : delayInitialCheck(issue.renewInMs, caches.clusters.size, deps.random());
  deps.checked.add(key);
  if (delayMs > 0) return { requeueAfterMs: delayMs };
  await tenants.withTenant(cluster, tenant, signal, (client) =>
    ensureBindings(client, () => decideBindings(basis, observeAccesses(caches, key), deps.now())),
  );
  return { requeueAfterMs: BINDING_CHECK_MS };
}

import type { ReconcileResult } from "../../shared/controller/controller.ts";
import type { AccessHealth } from "../access-health.ts";
import { observeAccesses, observeAdminKubeconfig } from "../admin-kubeconfig/observe.ts";
import { decideBindings, reconcileAdminKubeconfig } from "../admin-kubeconfig/reconcile.ts";
import type { AdminKubeconfigDeps } from "../admin-kubeconfig/run.ts";
import type { Caches } from "../caches.ts";
import type { RunContext } from "../run-context.ts";
import type { ServiceAccountName } from "../secret-role.ts";
import { ensureBindings } from "../tenant/binding.ts";
import type { Signers } from "../tenant/signers.ts";
import type { TenantAccess } from "../tenant/tenant.ts";
import { BINDING_CHECK_MS, delayInitialCheck } from "./initial-check.ts";
import { issueAdminByTenant } from "./issue.ts";

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
    tenants.forget(key);
    deps.signers.forget(key);
    return undefined;
  }
  const { cluster, tenant } = observed;
  const { credential } = reconcileAdminKubeconfig(observed, deps.now());
  if (tenant?.state.controlPlaneInitialized !== true || credential === undefined) return undefined;
  const { basis, issue } = credential;
  const issues = tenant.authority.kind === "kubeconfig";
  if (issue.kind === "issue" && !issues) return undefined;
  const delayMs =
    issue.kind === "issue" || deps.checked.has(key)
      ? 0
      : delayInitialCheck(issue.renewInMs, caches.clusters.size, deps.random());
  deps.checked.add(key);
  if (delayMs > 0) return { requeueAfterMs: delayMs };
  await deps.accessHealth.record(key, "bindings", () =>
    tenants.withTenant(cluster, tenant, context.signal, async (client) => {
      // A right that has ended is taken away first, whatever issuing takes.
      await ensureBindings(client, () => decideBindings(basis, observeAccesses(caches, key), deps.now()));
      if (issues) {
        const issued = () => issueAdminByTenant(deps, client, observed, credential, context);
        await deps.accessHealth.record(key, "kubeconfig", issued);
      }
    }),
  );
  return { requeueAfterMs: BINDING_CHECK_MS };
}

import type { Context } from "../context.ts";
import type { LocalCluster } from "../kinds.ts";
import { filesOf, idOf, removeTenantFiles, type Tenant } from "../tenant.ts";
import type { ClusterEffect } from "./reconcile.ts";

/** Performs one step on this machine; every step is idempotent. */
export async function applyClusterEffect(
  context: Context,
  _object: LocalCluster,
  tenant: Tenant,
  effect: ClusterEffect,
): Promise<void> {
  if (effect.do === "open") {
    await context.fronts.put(idOf(tenant), effect.spec);
    return;
  }
  await context.fronts.remove(idOf(tenant));
  // The control plane was deleted first, but the last reconcile of this cluster has reserved a port for it again.
  context.ports.forget(tenant);
  removeTenantFiles(filesOf(context.config.runDir, tenant));
}

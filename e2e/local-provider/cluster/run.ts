import { type Context, findByTenant, findTenant } from "../context.ts";
import { findOwnerName } from "../engine-kinds.ts";
import type { LocalCluster } from "../kinds.ts";
import { filesOf, idOf, removeTenantFiles, type Tenant } from "../tenant.ts";
import type { ClusterEffect, ObservedCluster } from "./reconcile.ts";

/** The world as far as a LocalCluster depends on it; undefined while Cluster API has not labelled it. */
export async function observeCluster(
  context: Context,
  object: LocalCluster,
): Promise<ObservedCluster | undefined> {
  const tenant = findTenant(object);
  if (tenant === undefined) return undefined;
  const chosen = object.spec.controlPlaneEndpoint?.port;
  const isGoing = object.metadata.deletionTimestamp !== undefined;
  return {
    object,
    ownerName: findOwnerName(object.metadata, "Cluster"),
    freePort: chosen || isGoing ? undefined : await context.ports.pick(),
    front: await context.fronts.get(idOf(tenant)),
    targetPort: isGoing ? 0 : await context.ports.ensureApiserverPort(tenant),
    apiAnswered:
      findByTenant(context.stores.controlPlanes, tenant)?.status?.initialization?.controlPlaneInitialized ===
      true,
    apiReady: context.apis.isReady(tenant),
    platformCIDRs: context.settings.platformCIDRs,
    now: new Date(),
  };
}

export async function applyClusterEffect(
  context: Context,
  tenant: Tenant,
  effect: ClusterEffect,
): Promise<void> {
  if (effect.do === "open") {
    await context.fronts.put(idOf(tenant), effect.spec);
    return;
  }
  await context.fronts.remove(idOf(tenant));
  // The control plane has gone before; a last look at this cluster has kept a port for it again.
  context.ports.forget(tenant);
  removeTenantFiles(filesOf(context.settings.runDir, tenant));
}

import { findOwnerName } from "../capi-kinds.ts";
import { type Context, findByTenant, findTenant } from "../context.ts";
import type { LocalCluster } from "../kinds.ts";
import { idOf } from "../tenant.ts";
import type { ObservedCluster } from "./reconcile.ts";

/** Everything that a LocalCluster depends on; undefined while Cluster API has not labelled it. */
export async function observeCluster(
  context: Context,
  object: LocalCluster,
): Promise<ObservedCluster | undefined> {
  const tenant = findTenant(object);
  if (tenant === undefined) return undefined;
  const chosen = object.spec.controlPlaneEndpoint?.port;
  const isDeleted = object.metadata.deletionTimestamp !== undefined;
  return {
    object,
    ownerName: findOwnerName(object.metadata, "Cluster"),
    freePort: chosen || isDeleted ? undefined : await context.ports.pick(),
    front: await context.fronts.get(idOf(tenant)),
    targetPort: isDeleted ? 0 : await context.ports.ensureApiserverPort(tenant),
    apiResponded:
      findByTenant(context.stores.controlPlanes, tenant)?.status?.initialization?.controlPlaneInitialized ===
      true,
    apiReady: context.apis.isReady(tenant),
    platformCIDRs: context.config.platformCIDRs,
    now: new Date(),
  };
}

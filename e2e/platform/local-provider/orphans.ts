import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Context, findByTenant } from "./context.ts";
import { destroyTenant } from "./control-plane/effects.ts";
import { idOf, type Tenant, tenantOf, tenantOfProcess } from "./tenant.ts";

function listFolders(runDir: string): string[] {
  const folder = join(runDir, "tenants");
  return existsSync(folder) ? readdirSync(folder) : [];
}

/**
 * Removes everything of tenants that have no object any more: their finalizer was removed by hand, or the Kubernetes
 * API was restored from a backup. Call it once every store is synced.
 */
export async function removeOrphans(context: Context): Promise<void> {
  const { config, stores, processes, keys, fronts } = context;
  const orphans = new Map<string, Tenant>();
  const isOrphan = (tenant: Tenant): boolean =>
    findByTenant(stores.clusters, tenant) === undefined &&
    findByTenant(stores.controlPlanes, tenant) === undefined;
  const tenants = [
    ...processes.names().map(tenantOfProcess),
    ...listFolders(config.runDir).map(tenantOf),
    ...(await keys.list()),
  ];
  for (const tenant of tenants) if (isOrphan(tenant)) orphans.set(idOf(tenant), tenant);
  for (const tenant of orphans.values()) await destroyTenant(context, tenant);
  for (const id of await fronts.keys()) if (isOrphan(tenantOf(id))) await fronts.remove(id);
}

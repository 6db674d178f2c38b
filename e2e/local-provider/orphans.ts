import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Context, findByTenant } from "./context.ts";
import { sweepOrphans } from "./control-plane/run.ts";
import { idOf, type Tenant, tenantOf, tenantOfProcess } from "./tenant.ts";

function listFolders(runDir: string): string[] {
  const folder = join(runDir, "tenants");
  return existsSync(folder) ? readdirSync(folder) : [];
}

/**
 * Ends and removes what belongs to no cluster any more: its finalizer was taken away by hand, or the Kubernetes API
 * was set back. To be called once every store is filled.
 */
export async function removeOrphans(context: Context): Promise<void> {
  const { settings, stores, processes, keys, fronts } = context;
  const found = new Map<string, Tenant>();
  const isGone = (tenant: Tenant): boolean =>
    findByTenant(stores.clusters, tenant) === undefined &&
    findByTenant(stores.controlPlanes, tenant) === undefined;
  const tenants = [
    ...processes.names().map(tenantOfProcess),
    ...listFolders(settings.runDir).map(tenantOf),
    ...(await keys.list()),
  ];
  for (const tenant of tenants) if (isGone(tenant)) found.set(idOf(tenant), tenant);
  await sweepOrphans(context, [...found.values()]);
  for (const id of await fronts.keys()) if (isGone(tenantOf(id))) await fronts.remove(id);
}

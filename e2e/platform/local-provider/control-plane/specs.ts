import { type Context, findByTenant } from "../context.ts";
import type { LocalControlPlane } from "../kinds.ts";
import type { ProgramSpec } from "../processes.ts";
import { describePrograms } from "../programs.ts";
import { filesOf, POD_CIDRS, type Program, SERVICE_CIDRS, type Tenant } from "../tenant.ts";

/** How many kube-apiservers may start at once. Each takes a core for seconds: 2.7 s alone, 8 to 14 s among seven. */
export const MAX_STARTING = 2;

/** The address of the tenant's API; undefined while the LocalCluster has none. */
export function serverOf(context: Context, tenant: Tenant): string | undefined {
  const { host, port } = findByTenant(context.stores.clusters, tenant)?.spec.controlPlaneEndpoint ?? {};
  return host && port ? `https://${host}:${port}` : undefined;
}

/** The programs of the tenant at this version. */
export function specsOf(
  context: Context,
  tenant: Tenant,
  { version, shape, podCIDRs = POD_CIDRS, serviceCIDRs = SERVICE_CIDRS }: LocalControlPlane["spec"],
  apiserverPort: number,
): Record<Program, ProgramSpec> {
  const { config, versions } = context;
  return describePrograms({
    tenant,
    files: filesOf(config.runDir, tenant),
    programs: config.programs,
    apiserver: versions.pathOf(version),
    version,
    signsRequests: shape === "managed" || shape === "keyless",
    podCIDRs,
    serviceCIDRs,
    apiserverPort,
  });
}

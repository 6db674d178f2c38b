import { readUpgradeChecks } from "../../shared/tenant/upgrade/read-checks.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import type { TenantReader } from "./tenant-reader.ts";
import type { UpgradeChecks } from "./upgrade-decision.ts";

/** What an upgrade to each of the targets finds in the cluster itself, blocking checks first; nothing is read without one. */
export async function readChecks(
  reader: TenantReader,
  cluster: ProjectedCluster,
  targets: readonly string[],
): Promise<(target: string) => UpgradeChecks> {
  if (targets.length === 0) return () => [];
  const found = await reader.read(cluster, (client) => readUpgradeChecks(client, targets));
  return (target) => ("unknown" in found ? found : (found.get(target) ?? []));
}
